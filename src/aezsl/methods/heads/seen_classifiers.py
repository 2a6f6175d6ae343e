"""Classifiers of seen classes that a network brings along, and vectors of what the classes are called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aezsl.arrays import Array, Labels, Mask, unit_rows
from aezsl.errors import DataError


@dataclass(frozen=True)
class SeenClassifiers:
    """All that a label is compared with: C classifiers of d features, described and named by vectors.

    The logits of samples X (n, d) are ``X @ rows.T + biases``. A class has its own names and those of the classes above
    it, such as dog for a collie: class c has the names ``named[starts[c] : starts[c + 1]]``, rows of ``names``.
    """

    rows: Array  # (C, d)
    biases: Array  # (C,)
    S: Array  # (C, a) unit vectors of the descriptions
    names: Array  # (M, b) unit vectors of names, in the first b <= a dimensions of the descriptions
    named: Labels  # (P,) the names of the first class, then those of the second, ...
    starts: Labels  # (C,) where the names of each class begin in ``named``

    @classmethod
    def build(
        cls, rows: ArrayLike, biases: ArrayLike, S: ArrayLike, names: ArrayLike, named: Sequence[Sequence[int] | Labels]
    ) -> Self:
        """From arrays of any length and precision, and for every class the row numbers of its names."""
        lengths = [len(own) for own in named]
        if 0 in lengths:
            raise DataError(f"class {lengths.index(0)} has no name: give each class one at least")
        W, B, D, N = (np.asarray(array, dtype=np.float64) for array in (rows, biases, S, names))
        found = cls(
            *(W, B, unit_rows(D), unit_rows(N)),
            np.concatenate([np.asarray(own, dtype=np.int64) for own in named]),
            np.cumsum([0, *lengths[:-1]]),
        )
        found.check()
        return found

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        C = len(self.rows)
        shapes = {"biases": self.biases.shape, "descriptions": self.S.shape[:1], "names": self.starts.shape}
        if wrong := next((what for what, shape in shapes.items() if shape != (C,)), None):
            raise DataError(f"{C} classifiers need {C} {wrong}, got {shapes[wrong]}")
        if C < 2:
            raise DataError(f"at least two classifiers are needed, got {C}")
        if self.names.shape[1] > self.S.shape[1]:
            raise DataError(f"names have {self.names.shape[1]} dimensions, descriptions {self.S.shape[1]}: not more")
        if self.named.min() < 0 or self.named.max() >= len(self.names):
            raise DataError(
                f"names are numbered 0 to {len(self.names) - 1}, got {self.named.min()} to {self.named.max()}"
            )
        if not all(np.isfinite(array).all() for array in (self.rows, self.biases, self.S, self.names)):
            raise DataError("classifiers, descriptions and names must be finite numbers")

    def subset(self, kept: Mask) -> Self:
        """The same without some of the classes."""
        ends = [*self.starts[1:], len(self.named)]
        own = [self.named[start:end] for start, end, keep in zip(self.starts, ends, kept, strict=True) if keep]
        return self.build(self.rows[kept], self.biases[kept], self.S[kept], self.names, own)

    def state(self) -> dict[str, Any]:
        """The arrays by name, as a fitted method keeps them."""
        return {f"{name}_": value for name, value in vars(self).items()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """What ``state`` was taken of."""
        return cls(**{name: state[f"{name}_"] for name in cls.__dataclass_fields__})
