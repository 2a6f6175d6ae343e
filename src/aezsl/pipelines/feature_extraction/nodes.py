"""Image files to feature vectors."""

import logging
from collections.abc import Iterator
from typing import Any

import pandas as pd

from aezsl.datasets.vector_store import VectorCacheDataset
from aezsl.vectors import VectorChunk
from aezsl.vision.backbones import Backbone, make_backbone
from aezsl.vision.extraction import UnreadableImageError, extract_features
from aezsl.vision.feature_files import import_features

log = logging.getLogger(__name__)


def extract(
    images: pd.DataFrame, cache: VectorCacheDataset, settings: dict[str, Any]
) -> Iterator[tuple[VectorChunk, dict[str, str]]]:
    """Vectors of the images that the cache does not have, shard by shard; and the images that cannot be read."""
    if settings["backbone"] == "file":
        for chunk in import_features(images, settings["path"], cache.known):
            yield chunk, {}
        return
    backbone = make_backbone(settings["backbone"], settings["weights"], settings["layer"])
    yield from extract_with(backbone, images, cache, settings)


def extract_with(
    backbone: Backbone, images: pd.DataFrame, cache: VectorCacheDataset, settings: dict[str, Any]
) -> Iterator[tuple[VectorChunk, dict[str, str]]]:
    """The same by a given backbone."""
    known = cache.known(backbone.fingerprint)
    unreadable: dict[str, str] = {}
    shards = extract_features(images, known, backbone, settings["batch_size"], settings["shard_size"])
    for chunk, unreadable in shards:
        yield chunk, unreadable
    if not unreadable:
        return
    listed = "\n  ".join(list(unreadable.values())[:10])
    message = f"{len(unreadable)} images cannot be read:\n  {listed}"
    if settings["on_error"] == "fail":
        raise UnreadableImageError(f"{message}\nRepair or remove them, or set feature_extraction.on_error to skip")
    log.warning("%s\nThey are left out.", message)
