"""Class descriptions to semantic vectors."""

from typing import Any

import pandas as pd

from aezsl.datasets.vector_store import VectorCacheDataset
from aezsl.semantics import embed_classes, resolve_sources, semantics_fingerprint
from aezsl.vectors import VectorChunk


def embed(classes: pd.DataFrame, cache: VectorCacheDataset, settings: dict[str, Any]) -> VectorChunk:
    """Vectors of all classes, unless the cache has them for the same descriptions and settings."""
    sources = resolve_sources(classes, settings["sources"])
    fingerprint = semantics_fingerprint(classes, sources)
    names = classes["class_name"].tolist()
    config = {"sources": sources}
    if set(names) <= set(cache.known(fingerprint)):
        return VectorChunk.empty(fingerprint, config)
    return VectorChunk(fingerprint, config, names, [fingerprint] * len(names), embed_classes(classes, sources))
