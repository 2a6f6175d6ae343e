"""The formula of ``AEZSLHeads``, in numpy alone: an answer of the photo model imports no more."""

from typing import ClassVar, NamedTuple

import numpy as np

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.methods.heads.seen_classifiers import SeenClassifiers
from aezsl.methods.shared.local_ridges import local_coefficients
from aezsl.methods.shared.similarity import SimilarityWeights, Weighting

#: Cosines with names that are held at once.
BLOCK_ENTRIES = 2_000_000


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

    #: Below this similarity to every class a label is far.
    far_below: ClassVar[float] = 0.5
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

    def doubts(self, A: Array) -> Doubts:
        """Which labels resemble no class, and which pairs cover the same classes; no image is needed."""
        u = self.similarity(A)
        common = np.triu(overlap(cover(u, self.sharpness)), k=1)
        pairs = [(int(i), int(j)) for i, j in np.argwhere(common > self.alike_above)]
        return Doubts(np.flatnonzero(u.max(axis=1) < self.far_below), pairs)

    def rivals(self, X: Array) -> Array:
        """The largest log posterior of a class of the network (n,)."""
        found: Array = log_posteriors(X, self.seen_.rows, self.seen_.biases)[0].max(axis=1)
        return found
