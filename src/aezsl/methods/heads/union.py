"""The named classifiers of a network, and the formula of ``AEZSLHeads``, in numpy alone.

An answer of the photo model imports no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from aezsl.arrays import Array, Labels, Mask, unit_rows
from aezsl.errors import DataError
from aezsl.methods.shared.local_ridges import local_coefficients
from aezsl.methods.shared.similarity import SimilarityWeights, Weighting

#: Cosines with names that are held at once.
BLOCK_ENTRIES = 2_000_000


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


def similarity_to_names(A: Array, names: Array, named: Labels, starts: Labels) -> Array:
    """The cosine (L, C) of every label with the most similar name of every class."""
    cosines = unit_rows(A[:, : names.shape[1]]) @ names.T
    found = np.empty((len(A), len(starts)))
    step = max(1, BLOCK_ENTRIES // len(named))
    for i in range(0, len(A), step):
        found[i : i + step] = np.maximum.reduceat(cosines[i : i + step, named], starts, axis=1)
    return found


def cover(similarity: Array, sharpness: float) -> Array:
    """How far every label covers every class (L, C): a softmax over the classes."""
    shares = np.exp(sharpness * (similarity - similarity.max(axis=1, keepdims=True)))
    found: Array = shares / shares.sum(axis=1, keepdims=True)
    return found


def centred(S: Array, A: Array) -> tuple[Array, Array]:
    """Descriptions and labels of unit length less the mean description, at unit length again."""
    mean = S.mean(axis=0)
    return unit_rows(S - mean), unit_rows(unit_rows(A) - mean)


def most_similar(weights: Array, n: int) -> Array:
    """The weights (L, C) of the n classes that count most for each label, and zero for others; ties all stay."""
    if n >= weights.shape[1]:
        return weights
    least = np.partition(weights, -n, axis=1)[:, -n, None]
    return np.where(weights >= least, weights, 0.0)


def combined(k: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """Directions (L, d) and offsets (L,) of the classifiers that coefficients k (C, L) make, at unit length.

    Rows and biases count less their means.
    """
    Q, e = k.T @ (rows - rows.mean(axis=0)), k.T @ (biases - biases.mean())
    lengths = np.linalg.norm(Q, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return Q / lengths[:, None], e / lengths


def of_mean_length(directions: Array, offsets: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """The same as one more class of the network: as long as its rows are in the mean, on top of their mean."""
    length = np.linalg.norm(rows - rows.mean(axis=0), axis=1).mean()
    return rows.mean(axis=0) + length * directions, biases.mean() + length * offsets


def log_posteriors(X: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """What the network itself says: log p(c given x) (n, C), and the logarithm of what was divided by (n, 1)."""
    logits = X @ rows.T + biases
    top = logits.max(axis=1, keepdims=True)
    z = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return logits - z, z


def union_scores(log_p: Array, own: Array, shares: Array, novelty: float) -> Array:
    """The logarithm (n, L) of what the covered classes say and of what the predicted class says.

    log_p : (n, C) log posteriors of the classes. own : (n, L) log posteriors of the predicted classes. shares : (L, C).
    """
    with np.errstate(divide="ignore"):  # all covered classes may be impossible: then the predicted class decides
        covered = np.log(np.exp(log_p) @ shares.T)
    scores: Array = np.logaddexp(covered, own + np.log(novelty))
    return scores


def overlap(shares: Array) -> Array:
    """How much two labels cover the same classes (L, L), 0 to 1: the sum of the square roots of their products."""
    roots = np.sqrt(shares)
    found: Array = roots @ roots.T
    return found


class MappingFormula:
    """The mapping of ``HeadMapping``, for whatever has its parameters and the classifiers."""

    lam: float
    weighting: Weighting
    similar: int
    seen_: SeenClassifiers

    def mapped(self, A: Array) -> tuple[Array, Array]:
        """Directions (L, d) and offsets (L,) of the labels' classifiers, at unit length: one mapping for each label."""
        seen = self.seen_
        weights = SimilarityWeights.for_seen(seen.S, self.weighting)(A)
        S, A = centred(seen.S, A)
        k = local_coefficients(most_similar(weights, self.similar), S, A, self.lam)
        return combined(k, seen.rows, seen.biases)


class Doubts(NamedTuple):
    """Labels that should not be trusted; bounds in ``UnionFormula``."""

    far: Labels  # (f,) labels that resemble no class
    alike: list[tuple[int, int]]  # pairs that cover the same classes


class UnionFormula(MappingFormula):
    """The same of ``AEZSLHeads``. Features X (n, d) and vectors of labels A (L, a) are checked already."""

    sharpness: float
    by_name: float
    novelty: float

    #: Below this similarity to every class a label is far: one of English, and one of another language.
    far_below: ClassVar[tuple[float, float]] = (0.5, 0.45)
    #: Labels that overlap more than this are alike.
    alike_above: ClassVar[float] = 0.9

    def similarity(self, A: Array) -> Array:
        """The similarity u (L, C) of labels and classes."""
        seen = self.seen_
        by_name = similarity_to_names(A, seen.names, seen.named, seen.starts)
        by_description = unit_rows(A) @ seen.S.T
        found: Array = (1 - self.by_name) * by_description + self.by_name * by_name
        return found

    def target_parts(self, A: Array) -> dict[str, Array]:
        """What the scores depend on beside the features."""
        seen = self.seen_
        directions, offsets = of_mean_length(*self.mapped(A), seen.rows, seen.biases)
        return {"shares": cover(self.similarity(A), self.sharpness), "directions": directions, "offsets": offsets}

    def scores(self, X: Array, shares: Array, directions: Array, offsets: Array) -> Array:
        """The scores (n, L)."""
        log_p, z = log_posteriors(X, self.seen_.rows, self.seen_.biases)
        return union_scores(log_p, X @ directions.T + offsets - z, shares, self.novelty)

    def doubts(self, A: Array, foreign: Sequence[bool] = ()) -> Doubts:
        """Which labels resemble no class, and which pairs cover the same classes; no image is needed.

        foreign : which labels are of another language, all English by default.
        """
        u = self.similarity(A)
        common = np.triu(overlap(cover(u, self.sharpness)), k=1)
        pairs = [(int(i), int(j)) for i, j in np.argwhere(common > self.alike_above)]
        bounds = np.where(foreign, *self.far_below[::-1]) if len(foreign) else self.far_below[0]
        return Doubts(np.flatnonzero(u.max(axis=1) < bounds), pairs)

    def rivals(self, X: Array) -> Array:
        """The largest log posterior of a class of the network (n,)."""
        found: Array = log_posteriors(X, self.seen_.rows, self.seen_.biases)[0].max(axis=1)
        return found
