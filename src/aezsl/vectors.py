"""Vectors by name: what feature extraction and semantic embedding produce and problems are built from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class VectorChunk:
    """Some vectors on their way into a store."""

    fingerprint: str  # of whatever computed them
    config: dict[str, Any]
    ids: Sequence[str]
    digests: Sequence[str]  # of what they were computed from
    vectors: Array

    @classmethod
    def empty(cls, fingerprint: str, config: dict[str, Any]) -> Self:
        """Nothing new, but from now on the store speaks of this fingerprint."""
        return cls(fingerprint, config, [], [], np.empty((0, 0), dtype=np.float32))


@dataclass(frozen=True)
class Vectors:
    """All vectors of a store, one row per id."""

    ids: NDArray[np.str_]
    matrix: Array
    fingerprint: str = ""
    config: dict[str, Any] = field(default_factory=dict)

    def rows(self, wanted: Sequence[str]) -> NDArray[np.int64]:
        """Row numbers of the wanted ids; -1 where there is none."""
        return pd.Index(self.ids).get_indexer(pd.Index(wanted)).astype(np.int64)
