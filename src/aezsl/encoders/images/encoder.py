"""One network, or several whose features stand side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorSet, side_by_side
from aezsl.encoders.images.backbones import Backbone, make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.pictures import Encode, load_encode
from aezsl.encoders.images.settings import ExtractionSettings, named_backbones
from aezsl.formats.feature_files import import_features


@dataclass(frozen=True)
class ImageEncoder:
    """Backbones whose features stand side by side, each at unit length; those of a single one stay as they are."""

    backbones: tuple[Backbone, ...]

    @property
    def vectors(self) -> VectorSet:
        """What it computes, as a store knows it."""
        return side_by_side([VectorSet(backbone.fingerprint, backbone.config) for backbone in self.backbones])

    def load(self, side_by_side: bool = False, batch_size: int = 8) -> Encode:
        """A function that gives features (n, d) of images, with all networks in memory, as ``extract`` gives them.

        side_by_side : whether every core looks at images of its own, for many images or for many who ask at once.
            Else images follow each other, each on all cores, which is the soonest answer for one of them.
        """
        return load_encode(self.backbones, side_by_side, batch_size)

    def extract(
        self, images: pd.DataFrame, store: VectorStore, settings: ExtractionSettings
    ) -> tuple[VectorSet, dict[str, str]]:
        """Add the features that the store does not have yet, backbone by backbone; and images that cannot be read."""
        unreadable: dict[str, str] = {}
        for backbone in self.backbones:
            readable = images[~images["image_id"].isin(set(unreadable))]
            unreadable |= extract_to_store(backbone, readable, store, settings)[1]
        return self.vectors, unreadable


def make_encoder(settings: ExtractionSettings) -> ImageEncoder:
    """The encoder that the settings name: see ``named_backbones``."""
    return ImageEncoder(tuple(_make_one(one, settings.device) for one in named_backbones(settings)))


def _make_one(one: Mapping[str, Any], device: str) -> Backbone:
    return make_backbone(one["backbone"], one["weights"], one["layer"], device, one["precision"])


def gather_features(
    images: pd.DataFrame, store: VectorStore, settings: ExtractionSettings
) -> tuple[VectorSet, dict[str, str]]:
    """Features of all images by the backbones and from the files that the settings name, side by side."""
    sets: list[VectorSet] = []
    unreadable: dict[str, str] = {}
    for one in named_backbones(settings):
        if one["backbone"] == "file":
            sets.append(import_features(images, one["path"], store))
            continue
        readable = images[~images["image_id"].isin(set(unreadable))]
        found, bad = ImageEncoder((_make_one(one, settings.device),)).extract(readable, store, settings)
        sets.append(found)
        unreadable |= bad
    return side_by_side(sets), unreadable
