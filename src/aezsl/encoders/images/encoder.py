"""One network, or several whose features stand side by side."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from aezsl.arrays import Float32, unit_rows
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorSet, side_by_side
from aezsl.encoders.images.backbones import Backbone, ExtractionSettings, make_backbone, named_backbones
from aezsl.encoders.images.engine import Run, available_cores
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.preprocessing import Preprocess, least_size
from aezsl.errors import DataError
from aezsl.formats.feature_files import import_features
from aezsl.formats.images import UnreadableImageError, as_seen, read_image
from aezsl.machine.workers import Workers, working_on

#: An image by its path, its content, or opened.
Picture = str | Path | bytes | Image.Image

#: Opened pictures may share a file, or be one and the same: they are read one at a time.
_SHARED = Lock()

#: Pictures -> (n, d).
Encode = Callable[[Sequence[Picture]], Float32]


def _opened(number: int | None, picture: Picture, at_least: int) -> Image.Image:
    """One of several pictures as it is seen; what cannot be read is named, by its number where it has no name."""
    unnamed = "the image" if number is None else f"image {number}"
    name = str(picture) if isinstance(picture, str | Path) else unnamed
    if not isinstance(picture, str | Path | bytes | Image.Image):
        raise DataError(f"{name} is a {type(picture).__name__}: give images by path, as bytes, or as PIL images")
    if not isinstance(picture, Image.Image):
        return read_image(picture, name, at_least)
    try:
        with _SHARED:
            return as_seen(picture)
    except Exception as error:  # opened, but its file is damaged further on
        raise UnreadableImageError(f"{name} cannot be read as an image ({type(error).__name__}: {error})") from error


def _look_at(engines: Sequence[tuple[Preprocess, Run, int]], numbered: Sequence[tuple[int | None, Picture]]) -> Float32:
    """Features (n, d) of pictures by all networks, each picture decoded once for those that want it of one size."""
    pixels: list[list[Float32]] = [[] for _ in engines]
    for number, picture in numbered:
        opened: dict[int, Image.Image] = {}
        for own, (preprocess, _, at_least) in zip(pixels, engines, strict=True):
            if at_least not in opened:
                opened[at_least] = _opened(number, picture, at_least)
            own.append(preprocess(opened[at_least]))
    parts = [network(np.stack(own)) for own, (_, network, _) in zip(pixels, engines, strict=True)]
    return parts[0] if len(parts) == 1 else np.hstack([unit_rows(part).astype(np.float32) for part in parts])


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
        n_cores = available_cores()
        with working_on(Workers()) if side_by_side else nullcontext():  # which leaves a network one core
            loaded = [backbone.load() for backbone in self.backbones]
        engines = [(preprocess, network, least_size(preprocess)) for preprocess, network in loaded]
        # One pool for all who ask: more threads than cores would only take turns.
        run_all = ThreadPoolExecutor(n_cores).map if side_by_side else map

        def encode(pictures: Sequence[Picture]) -> Float32:
            numbers = range(len(pictures)) if len(pictures) > 1 else [None]
            numbered = list(zip(numbers, pictures, strict=True))
            size = min(batch_size, -(-len(numbered) // n_cores)) if side_by_side else batch_size
            pieces = [numbered[i : i + size] for i in range(0, len(numbered), size)]
            return np.concatenate(list(run_all(partial(_look_at, engines), pieces)))

        return encode

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
    return make_backbone(one["backbone"], one["weights"], one["layer"], device)


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
