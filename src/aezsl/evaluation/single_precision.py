r"""The k best of many products at nearly the speed of a bare product in single precision, in the exact order.

**What is looked at.** A row keeps the k-th best score so far as its threshold; of a block of scores only what passes
it is looked at, and after the first blocks that is next to nothing.

**Near ties.** A score computed in single precision differs from the exact one by at most

.. math:: \delta_i = (d + 3) \, 2^{-24} \, \|x_i\| \max_c \|p_c\|

(d roundings of a sum of d products, in whatever order, and one of each factor). Two scores that are more than
:math:`2\delta_i` apart are therefore in their true order. Everything within :math:`2\delta_i` of the k-th best is kept,
and every score with a neighbour closer than that is computed again in double precision: the classes returned, and their
order, are those of ``top_k`` on scores in double precision, the lower class number first where these are equal.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Numbers = NDArray[np.integer[Any]]

#: Kept columns beyond k after which a block of rows is settled before the end, so that masses of ties take no memory.
MOST_NEAR_TIES = 256
#: Products computed again at once.
PAIRS = 4096


def longest_column(P: Floats, class_block: int) -> float:
    """The largest length of a column of P (d, C), in double precision."""
    blocks = (P[:, i : i + class_block].astype(np.float64) for i in range(0, P.shape[1], class_block))
    return max(float(np.sqrt(np.einsum("ij,ij->j", block, block).max())) for block in blocks)


def rank_in_single_precision(X: Floats, P: Floats, longest: float, k: int, class_block: int) -> tuple[Numbers, Floats]:
    """The k best classes (n, k) of the products X (n, d) P (d, C), and their scores; longest : see above."""
    n, k = len(X), min(k, P.shape[1])
    single = X.astype(np.float32)
    # In double precision, and rounded up a little.
    delta = (X.shape[1] + 3) * 2.0**-24 * 1.001 * longest * np.linalg.norm(X.astype(np.float64), axis=1)
    kept = _Kept(np.full((n, 0), -1), np.empty((n, 0)), np.full(n, -np.inf))
    for first in range(0, P.shape[1], class_block):
        scores = single @ P[:, first : first + class_block].astype(np.float32, copy=False)
        kept = kept.with_block(scores, first, k, delta)
        if kept.classes.shape[1] > k + MOST_NEAR_TIES:
            kept = kept.settled(X, P, k, delta)
    kept = kept.settled(X, P, k, delta)
    return kept.classes, kept.scores.astype(np.result_type(X, P), copy=False)


class _Kept:
    """Per row the classes that may be among the k best, in falling order of their scores; -1 and -inf where none is."""

    def __init__(self, classes: Numbers, scores: Floats, threshold: Floats) -> None:
        self.classes, self.scores = classes, scores
        self.threshold = threshold  # (n,) what a class must reach

    def with_block(self, scores: NDArray[np.float32], first: int, k: int, delta: Floats) -> "_Kept":
        """These and the classes from number ``first`` on with their scores (n, m)."""
        if not np.isfinite(self.threshold).all():  # nothing to compare with yet
            m = min(k, scores.shape[1])
            best = np.partition(scores, scores.shape[1] - m, axis=1)[:, -m]
            start = np.where(m == k, best - 2 * delta, -np.inf)
        else:
            start = self.threshold
        # Rounded down, so that comparing in single precision lets nothing through that it should not.
        passing = scores >= np.nextafter(start.astype(np.float32), np.float32(-np.inf))[:, None]
        rows, columns = np.divmod(np.flatnonzero(passing), scores.shape[1])
        if not len(rows):
            return self
        counts = np.bincount(rows, minlength=len(scores))
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        classes = np.full((len(scores), counts.max()), -1)
        found = np.full(classes.shape, -np.inf)
        classes[rows, place], found[rows, place] = columns + first, scores[rows, columns]
        return _Kept(np.hstack([self.classes, classes]), np.hstack([self.scores, found]), self.threshold).cut(k, delta)

    def cut(self, k: int, delta: Floats) -> "_Kept":
        """The candidates in order, without those that can no longer be among the k best."""
        # Of equal scores the lower class number first: it stands further left, and the sort is stable.
        order = np.argsort(-self.scores, axis=1, kind="stable")
        classes, scores = np.take_along_axis(self.classes, order, 1), np.take_along_axis(self.scores, order, 1)
        if scores.shape[1] < k:
            return _Kept(classes, scores, self.threshold)
        threshold = scores[:, k - 1] - 2 * delta
        width = int((scores >= threshold[:, None]).sum(axis=1).max())
        out = scores < threshold[:, None]
        classes[out], scores[out] = -1, -np.inf
        return _Kept(classes[:, :width], scores[:, :width], threshold)

    def settled(self, X: Floats, P: Floats, k: int, delta: Floats) -> "_Kept":
        """The k best in their true order."""
        gaps = self.scores[:, 1:] >= self.scores[:, :-1] - 2 * delta[:, None]
        close = np.zeros(self.scores.shape, dtype=bool)
        close[:, :-1] |= gaps
        close[:, 1:] |= gaps
        rows, columns = np.nonzero(close & (self.classes >= 0))
        scores = self.scores.copy()
        for i in range(0, len(rows), PAIRS):
            row, column = rows[i : i + PAIRS], columns[i : i + PAIRS]
            names, place = np.unique(self.classes[row, column], return_inverse=True)
            classifiers = np.ascontiguousarray(P[:, names].T, dtype=np.float64)
            scores[row, column] = np.einsum("ij,ij->i", X[row].astype(np.float64), classifiers[place])
        absent = np.where(self.classes < 0, np.iinfo(np.int64).max, self.classes)
        order = np.lexsort((absent, -scores), axis=1)[:, :k]
        classes, scores = np.take_along_axis(self.classes, order, 1), np.take_along_axis(scores, order, 1)
        return _Kept(classes, scores, scores[:, -1] - 2 * delta)
