"""Class descriptions to semantic vectors."""

import logging
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.encoders.texts.encoder import looks_english
from aezsl.encoders.texts.fingerprints import MINILM, with_fingerprints
from aezsl.encoders.texts.semantics import (
    EmbeddingSettings,
    embed_classes,
    resolve_sources,
    semantics_fingerprint,
    ways_to_join,
)

log = logging.getLogger(__name__)


def embed(classes: pd.DataFrame, store: VectorStore, settings: EmbeddingSettings) -> VectorSet:
    """Vectors of all classes, unless the store has them for the same descriptions and settings.

    Classes for which a source has no vector, where its settings let it pass them over, are named in the config as
    ``without_vector``.
    """
    resolved = resolve_sources(classes, settings.sources)
    _warn_of_language(classes, resolved)
    sources = with_fingerprints(resolved)
    fingerprint = semantics_fingerprint(classes, sources)
    names = classes["class_name"].to_numpy()
    known = store.known(fingerprint)  # written in one piece, so it has all or nothing
    if not known:
        vectors = embed_classes(classes, sources)
        described = ~np.isnan(vectors).any(axis=1)
        known = dict.fromkeys(names[described].tolist(), fingerprint)
        store.add(VectorChunk(fingerprint, list(known), list(known.values()), vectors[described]))
    without = [name for name in names.tolist() if name not in known]
    if without:
        log.warning("%d of %d classes have no vector and are left out", len(without), len(names))
    joins = ways_to_join(classes, sources, settings.join)
    return VectorSet(fingerprint, {"sources": sources, "without_vector": without, "joins": joins})


def _warn_of_language(classes: pd.DataFrame, sources: list[dict[str, Any]]) -> None:
    """The encoder that comes with the project makes something of any text, but it has learnt English."""
    read = [source for source in sources if source["kind"] == "text" and source.get("encoder", MINILM) == MINILM]
    if read and "text" in classes and not looks_english(classes["text"].fillna("").tolist()):
        log.warning(
            "descriptions do not look English, which is all that the encoder %s reads: name one that knows their "
            "language, such as own.encoder=sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2 in --params",
            MINILM,
        )
