"""Labels for a pool whose class sizes are bounded: the exact best assignment, not a heuristic."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aezsl.arrays import Array, Labels
from aezsl.errors import DataError

Integers = NDArray[np.int64]


def balanced_assignment(scores: Array, lower: ArrayLike, upper: ArrayLike) -> Labels:
    r"""The labels (m,) with the highest sum of scores (m, C), every class between its bounds.

    .. math:: \max_T \langle G, T \rangle, \qquad T1 = 1, \quad T \in \{0, 1\}^{m \times C}, \quad
              \mathrm{lower} \le T'1 \le \mathrm{upper}

    The linear program behind it has integral corners, so its optimum is the one found here: every sample starts with
    its best class, and while a class has too many samples, one unit moves along the cheapest chain of classes to one
    with room left; then classes with too few are filled in the same way. The chains are shortest paths in a graph of C
    nodes, whose edge from j to k is the least loss of moving a sample of j to k. No negative cycle ever arises, so
    each state is the best one for the bounds met so far (successive shortest paths).

    Losses are rounded to whole numbers, of which the largest has at least 40 bits: sums of them are exact, and equal
    scores stay equal. On ties the first class is taken, and the first sample moves.

    ``lower`` and ``upper`` are whole numbers, one for all classes or one per class.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or not scores.shape[1]:
        raise DataError(f"scores must be 2-D with at least one class, got shape {scores.shape}")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise DataError(f"scores must be finite, row {row} is not: leave a class out by an upper bound of 0")
    low, high = _bounds(lower, upper, *scores.shape)
    if not len(scores):
        return np.empty(0, dtype=np.int64)
    moves = _Moves(_whole_losses(scores), scores.argmax(axis=1))
    while (over := moves.counts > high).any():
        moves.shift(over, moves.counts < high)
    while (under := moves.counts < low).any():
        moves.shift(moves.counts > low, under)
    return moves.labels


def _bounds(lower: ArrayLike, upper: ArrayLike, m: int, n_classes: int) -> tuple[Integers, Integers]:
    given = [np.asarray(bound) for bound in (lower, upper)]
    for name, bound in zip(("lower", "upper"), given, strict=True):
        if bound.shape not in ((), (n_classes,)) or not np.issubdtype(bound.dtype, np.integer):
            raise DataError(f"{name} must be a whole number or {n_classes} of them, got {bound.dtype} {bound.shape}")
    low, high = (np.broadcast_to(bound, n_classes).astype(np.int64) for bound in given)
    if (low < 0).any() or (low > high).any():
        raise DataError("bounds must be 0 <= lower <= upper for every class: mend the class where they are not")
    if not low.sum() <= m <= high.sum():
        raise DataError(
            f"no assignment of {m} samples keeps the bounds: together the classes must take at least {low.sum()} and "
            f"can take at most {high.sum()}; lower the lower bounds or raise the upper ones"
        )
    return low, high


def _whole_losses(scores: Array) -> Integers:
    """What every sample loses with every class (m, C), against its best one, in units that add up without rounding."""
    losses = scores.max(axis=1, keepdims=True) - scores
    largest = losses.max()
    # A chain has less than C edges, each at most the largest loss in size; their sum must stay below 2**61.
    units = 2.0 ** (60 - np.ceil(np.log2(scores.shape[1] + 1)))
    whole: Integers = np.rint(losses * (units / largest) if largest > 0 else losses).astype(np.int64)
    return whole


class _Moves:
    """Labels that change one unit at a time, with the cheapest move between any two classes at hand."""

    FAR = np.int64(2**61)

    def __init__(self, losses: Integers, labels: Labels) -> None:
        self.losses, self.labels = losses, labels.astype(np.int64)
        n_classes = losses.shape[1]
        self.counts = np.bincount(labels, minlength=n_classes)
        self.cost = np.full((n_classes, n_classes), self.FAR)  # of the cheapest move from class to class
        self.mover = np.full((n_classes, n_classes), -1)  # the sample that makes it
        for j in np.flatnonzero(self.counts):
            self._refresh(int(j), np.arange(n_classes))

    def shift(self, sources: NDArray[np.bool_], ends: NDArray[np.bool_]) -> None:
        """Move one unit from one of the sources to one of the ends, along the cheapest chain."""
        distance, before = self._paths(sources)
        k = int(np.where(ends, distance, 2 * self.FAR).argmin())
        while before[k] >= 0:
            j = int(before[k])
            self._move(int(self.mover[j, k]), j, k)
            k = j

    def _paths(self, sources: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """Distance of every class from the nearest source, and the class before it (Bellman and Ford)."""
        distance = np.where(sources, np.int64(0), self.FAR)
        before = np.full(len(distance), -1)
        while True:
            through = distance[:, None] + self.cost
            last = through.argmin(axis=0)
            nearest = np.take_along_axis(through, last[None], axis=0)[0]
            closer = nearest < distance
            if not closer.any():
                return distance, before
            distance, before = np.where(closer, nearest, distance), np.where(closer, last, before)

    def _move(self, sample: int, j: int, k: int) -> None:
        self.labels[sample] = k
        self.counts[j] -= 1
        self.counts[k] += 1
        self._refresh(j, np.flatnonzero(self.mover[j] == sample))
        row = self.losses[sample] - self.losses[sample, k]
        cheaper = (row < self.cost[k]) | ((row == self.cost[k]) & (sample < self.mover[k]))
        self.cost[k][cheaper], self.mover[k][cheaper] = row[cheaper], sample

    def _refresh(self, j: int, ends: Labels) -> None:
        """The cheapest moves from class j to these classes."""
        members = np.flatnonzero(self.labels == j)
        if not len(members):
            self.cost[j, ends], self.mover[j, ends] = self.FAR, -1
            return
        extra = self.losses[np.ix_(members, ends)] - self.losses[members, j][:, None]
        cheapest = extra.argmin(axis=0)
        self.cost[j, ends], self.mover[j, ends] = extra[cheapest, np.arange(len(ends))], members[cheapest]
