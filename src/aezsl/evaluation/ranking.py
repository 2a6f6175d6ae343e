"""The best classes of many samples, and the table of all scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Labels
from aezsl.data.mapped_arrays import Rows
from aezsl.errors import ParameterError
from aezsl.evaluation.single_precision import Floats, Numbers, longest_column, rank_in_single_precision
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import workers

#: Samples and classes whose scores are formed together: 16 MB of float64.
ROW_BLOCK, CLASS_BLOCK = 1024, 2048
#: Multiplications from which on a product is scored in single precision: a core does as many in six seconds in double.
LARGE_PRODUCT = 2**37
#: Tasks from which on a bar shows how far the work is.
MANY_TASKS = 16


@dataclass(frozen=True)
class Ranking:
    """The k best classes per sample, best first."""

    classes: NDArray[np.integer[Any]]  # (n, k) row numbers of the target semantics
    scores: NDArray[np.floating[Any]]  # (n, k)

    @classmethod
    def empty(cls, k: int) -> Self:
        """The ranking of no samples at all."""
        return cls(np.empty((0, k), dtype=np.int64), np.empty((0, k)))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Rankings of consecutive blocks of samples as one."""
        return cls(np.concatenate([p.classes for p in parts]), np.concatenate([p.scores for p in parts]))

    def scaled(self, factor: float) -> "Ranking":
        """The same ranking with scores times a positive number."""
        return Ranking(self.classes, self.scores * factor)

    def subset(self, samples: NDArray[np.bool_]) -> "Ranking":
        """The ranking of some of the samples."""
        return Ranking(self.classes[samples], self.scores[samples])

    def merge(self, later: Self, k: int) -> "Ranking":
        """The k best of two rankings of the same samples, where ``later`` holds classes of higher numbers."""
        classes, scores = np.hstack([self.classes, later.classes]), np.hstack([self.scores, later.scores])
        # Of equal scores the earlier column comes first, and so the lower class number.
        best = top_k(scores, k)
        return Ranking(np.take_along_axis(classes, best.classes, 1), best.scores)

    def with_first(self, labels: NDArray[np.integer[Any]]) -> "Ranking":
        """The same ranking with ``labels`` moved to the first place, where a later decision overrules scores."""
        at = (self.classes == labels[:, None]).argmax(axis=1)
        missing = self.classes[np.arange(len(at)), at] != labels
        at[missing] = self.classes.shape[1] - 1  # not among the k best: it takes the place of the last one
        order = np.arange(self.classes.shape[1])[None, :]
        order = np.where(order == 0, at[:, None], np.where(order <= at[:, None], order - 1, order))
        classes, scores = np.take_along_axis(self.classes, order, 1), np.take_along_axis(self.scores, order, 1)
        classes[:, 0] = labels
        return Ranking(classes, scores)


def _check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ParameterError(f"k, the number of classes to name, must be a whole number of at least 1, got {k!r}")


def top_k(scores: NDArray[np.floating[Any]], k: int) -> Ranking:
    """The k highest scores (n, C) of every row, best first; of equal scores the lower class number comes first.

    Partial selection, then a sort of k numbers: C log C is never paid.
    """
    _check_k(k)
    n_classes = scores.shape[1]
    k = min(k, n_classes)
    if k == 1:
        best = scores.argmax(axis=1)[:, None]
        return Ranking(best, np.take_along_axis(scores, best, 1))
    if k < n_classes:
        threshold = np.partition(scores, n_classes - k, axis=1)[:, n_classes - k, None]
        above = scores > threshold
        # Of the classes that tie at the threshold, the first ones fill what places are left.
        tied = scores == threshold
        tied &= np.cumsum(tied, axis=1) <= k - above.sum(axis=1, keepdims=True)
        candidates = np.nonzero(above | tied)[1].reshape(len(scores), k)
    else:
        candidates = np.broadcast_to(np.arange(n_classes), scores.shape)
    values = np.take_along_axis(scores, candidates, 1)
    order = np.argsort(-values, axis=1, kind="stable")
    return Ranking(np.take_along_axis(candidates, order, 1), np.take_along_axis(values, order, 1))


def _rank_rows(rows: Rows, P: Floats, longest: float, k: int) -> tuple[Numbers, Floats]:
    """A task: some samples, from a mapped file or not, among all classes."""
    return rank_in_single_precision(np.asarray(rows), P, longest, k, CLASS_BLOCK)


def top_k_products(X: NDArray[np.floating[Any]], P: NDArray[np.floating[Any]], k: int) -> Ranking:
    """``top_k(X @ P, k)`` for X (n, d) and P (d, C), holding the scores of one block of samples and classes at a time.

    Beside X and P it needs some 100 MB, however many samples and classes there are. Large products are scored in single
    precision by tasks side by side, and settled in double precision: see ``aezsl.evaluation.single_precision``.
    """
    _check_k(k)
    if X.shape[0] * X.shape[1] * P.shape[1] >= LARGE_PRODUCT:
        tasks = [Rows(X, slice(i, i + 2 * ROW_BLOCK)) for i in range(0, len(X), 2 * ROW_BLOCK)]
        parts = workers().map(_rank_rows, tasks, P, longest_column(P, CLASS_BLOCK), k)
        bar = progress_bar(parts, total=len(tasks), desc="ranking", disable=len(tasks) < MANY_TASKS)
        return Ranking.concatenate([Ranking(*found) for found in bar])
    if len(X) > ROW_BLOCK:
        return Ranking.concatenate([top_k_products(X[i : i + ROW_BLOCK], P, k) for i in range(0, len(X), ROW_BLOCK)])
    best = None
    for first in range(0, P.shape[1], CLASS_BLOCK):
        block = top_k(X @ P[:, first : first + CLASS_BLOCK], k)
        block = Ranking(block.classes + first, block.scores)
        best = block if best is None else best.merge(block, k)
    assert best is not None  # P has columns
    return best


@dataclass(frozen=True)
class ScoreTable:
    """Scores of every image for every class. Rows and columns by their names; labels are numbers of columns."""

    image_id: list[str]
    class_name: list[str]
    scores: NDArray[np.float32]  # (n, C) the method's own, higher is better
    predicted: Labels  # (n,) as evaluated: a transductive method's labels need not be the highest scores
    true: Labels  # (n,) -1 where nobody knows
