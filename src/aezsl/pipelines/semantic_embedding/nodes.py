"""Class descriptions to semantic vectors."""

import logging
from typing import Any

import numpy as np
import pandas as pd

from aezsl.datasets.vector_store import VectorCacheDataset
from aezsl.semantics import embed_classes, resolve_sources, semantics_fingerprint
from aezsl.vectors import VectorChunk

log = logging.getLogger(__name__)


def embed(classes: pd.DataFrame, cache: VectorCacheDataset, settings: dict[str, Any]) -> VectorChunk:
    """Vectors of all classes, unless the cache has them for the same descriptions and settings.

    Classes for which a source has no vector, where its settings let it pass them over, are named in the store's
    config as ``without_vector``.
    """
    sources = resolve_sources(classes, settings["sources"])
    fingerprint = semantics_fingerprint(classes, sources)
    names = classes["class_name"].to_numpy()
    known = set(cache.known(fingerprint))  # written in one piece, so it has all or nothing
    vectors = np.empty((0, 0), dtype=np.float32) if known else embed_classes(classes, sources)
    described = np.isin(names, list(known)) if known else ~np.isnan(vectors).any(axis=1)
    without = names[~described].tolist()
    if without:
        log.warning("%d of %d classes have no vector and are left out", len(without), len(names))
    config = {"sources": sources, "without_vector": without}
    if known:
        return VectorChunk.empty(fingerprint, config)
    ids = names[described].tolist()
    return VectorChunk(fingerprint, config, ids, [fingerprint] * len(ids), vectors[described])
