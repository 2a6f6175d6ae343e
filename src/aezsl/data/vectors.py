"""Vectors by name: what feature extraction and semantic embedding produce and problems are built from."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Float32, unit_rows
from aezsl.errors import DataError


@dataclass(frozen=True)
class VectorSet:
    """One set of vectors in a store: those that one computation has made, known by its fingerprint."""

    fingerprint: str
    config: dict[str, Any] = field(default_factory=dict)  # what the vectors depend on
    parts: tuple[str, ...] = ()  # fingerprints of the sets that it consists of, where it is several side by side


def side_by_side(sets: Sequence[VectorSet]) -> VectorSet:
    """Several sets as one: the vectors of an id beside each other, each at unit length. A single set stays as it is."""
    if len(sets) == 1:
        return sets[0]
    parts = tuple(found.fingerprint for found in sets)
    fingerprint = hashlib.sha256("+".join(parts).encode()).hexdigest()[:16]
    return VectorSet(fingerprint, {"side_by_side": [found.config for found in sets]}, parts)


@dataclass(frozen=True)
class VectorChunk:
    """Some vectors on their way into a store."""

    fingerprint: str  # of whatever computed them
    ids: Sequence[str]
    digests: Sequence[str]  # of what they were computed from
    vectors: Float32


class NamedVectors:
    """Vectors by id, in memory or not. A subclass has ``ids`` and says how rows are taken."""

    ids: NDArray[np.str_]
    fingerprint: str
    config: dict[str, Any]

    def find(self, wanted: Sequence[str]) -> NDArray[np.int64]:
        """Row numbers of the wanted ids; -1 where there is none."""
        return pd.Index(self.ids).get_indexer(pd.Index(wanted)).astype(np.int64)

    def rows(
        self, wanted: Sequence[str], kind: str, source: str, remedy: str = "compute them first"
    ) -> NDArray[np.int64]:
        """Row numbers of the wanted ids, all of which must be there; the other arguments are for the message."""
        rows = self.find(wanted)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            raise DataError(
                f"{len(missing)} of {len(wanted)} {kind} have no vector in {source}, for example "
                f"{wanted[missing[0]]!r}: {remedy}"
            )
        return rows

    def take(self, rows: NDArray[np.integer[Any]]) -> Float32:
        """The vectors with these numbers, in this order."""
        raise TypeError(f"{type(self).__name__} must define take")

    def get(self, wanted: Sequence[str], kind: str, source: str, remedy: str = "compute them first") -> Float32:
        """The vectors of the wanted ids, all of which must be there."""
        return self.take(self.rows(wanted, kind, source, remedy))


@dataclass(frozen=True)
class Vectors(NamedVectors):
    """All vectors of a store, one row per id."""

    ids: NDArray[np.str_]
    matrix: Float32
    fingerprint: str = ""
    config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.matrix):
            raise DataError(
                f"there must be one vector per id, got {len(self.matrix)} vectors for {len(self.ids)} ids: "
                "one of the two is cut off or of another data set"
            )

    def take(self, rows: NDArray[np.integer[Any]]) -> Float32:
        """The vectors with these numbers, in this order."""
        taken: Float32 = self.matrix[rows]
        return taken


@dataclass(frozen=True)
class StreamedVectors(NamedVectors):
    """As ``Vectors``, left where they are: in shards, one of which is in memory at a time."""

    ids: NDArray[np.str_]
    shard: NDArray[np.int64]  # of every id, and its row there
    row: NDArray[np.int64]
    read: Callable[[int], Float32]  # all vectors of a shard
    fingerprint: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    _last: dict[int, Float32] = field(default_factory=dict, repr=False)

    def take(self, rows: NDArray[np.integer[Any]]) -> Float32:
        """The vectors with these numbers, in this order; quick where neighbours are asked for together."""
        shards = self.shard[rows]
        taken: Float32 | None = None
        for number in np.unique(shards):
            here = shards == number
            vectors = self._shard(int(number))[self.row[rows[here]]]
            if taken is None:
                taken = np.empty((len(rows), vectors.shape[1]), dtype=np.float32)
            taken[here] = vectors
        return np.empty((0, 0), dtype=np.float32) if taken is None else taken

    def _shard(self, number: int) -> Float32:
        if number not in self._last:
            self._last.clear()
            self._last[number] = self.read(number)
        return self._last[number]


class SideBySide(NamedVectors):
    """Vectors of several sets beside each other, each at unit length; ids are those that all of them have."""

    def __init__(
        self, parts: Sequence[NamedVectors], fingerprint: str = "", config: dict[str, Any] | None = None
    ) -> None:
        first, *others = parts
        common = np.all([part.find(first.ids.tolist()) >= 0 for part in parts], axis=0)
        self.ids = first.ids[common]
        self.fingerprint, self.config = fingerprint, config or {}
        self._parts = [(part, part.find(self.ids.tolist())) for part in (first, *others)]

    def take(self, rows: NDArray[np.integer[Any]]) -> Float32:
        """The vectors with these numbers, in this order."""
        return np.hstack([unit_rows(part.take(own[rows])).astype(np.float32) for part, own in self._parts])
