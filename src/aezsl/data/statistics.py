"""Labelled samples as closed forms see them: sums that add up over blocks, however many samples there are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self, TypeVar

import numpy as np

from aezsl.arrays import Array, Labels, Mask
from aezsl.data.mapped_arrays import Rows
from aezsl.errors import DataError
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import workers

S = TypeVar("S", bound="SeenStatistics")
#: Samples that are summed at once: what a task needs in double precision beside its sums.
BLOCK_ROWS = 2048
#: Blocks of a task at most, a second of work or two at 1,280 features; and tasks at least, where samples are that many.
BLOCKS_OF_A_TASK, MIN_TASKS = 16, 16


@dataclass(frozen=True)
class SeenStatistics:
    """What ESZSL, AEZSL and other closed forms need of samples X (n, d) with labels y: nothing else.

    ``a + b`` is the statistics of the samples of both, ``a - b`` those of a without those of b. While there are fewer
    samples than features their rows stand for the product X'X, which costs less and says the same.
    """

    sums: Array  # (C, d) of the samples of each class, Y'X
    counts: Labels  # (C,) samples per class
    gram: Array | None  # (d, d) X'X, or None where rows are kept
    rows: Array | None  # (n, d) the samples, while n < d

    @classmethod
    def from_samples(cls, X: Array, y: Labels, n_classes: int) -> Self:
        """The statistics of samples in memory or in a mapped file.

        More than a block of them are cut into tasks, by their number alone, for ``aezsl.machine.workers.workers()``: so
        the sums have the same bits on any number of workers, in memory or in a mapped file.
        """
        few = X.shape[0] < X.shape[1]
        if len(X) > BLOCK_ROWS and not few:
            return cls._from_parts(X, y, n_classes, [slice(i, i + n) for i, n in _tasks(len(X))])
        X = np.ascontiguousarray(X, dtype=np.float64)
        gram, rows = (None, X) if few else (X.T @ X, None)
        return cls(class_sums(X, y, n_classes), np.bincount(y, minlength=n_classes), gram, rows)

    @classmethod
    def _from_parts(cls, X: Array, y: Labels, n_classes: int, parts: Sequence[slice | Labels]) -> Self:
        """The statistics of all samples; every part is a task, and the results are added in their order."""
        tasks = ((Rows(X, part), y[part]) for part in parts)
        sums: Iterable[Self] = progress_bar(
            workers().map(_task_statistics, tasks, cls, n_classes),
            total=len(parts),
            desc="sums over samples",
            disable=len(parts) < MIN_TASKS,
        )
        return reduce(add, sums)

    @classmethod
    def from_blocks(cls, blocks: Iterable[tuple[Array, Labels]], n_classes: int) -> Self:
        """The statistics of a stream of (X, y), a few blocks in memory at a time; the order of the sum is the stream's.

        The blocks are tasks that ``aezsl.machine.workers.workers()`` carry out.
        """
        parts: Iterator[Self] = workers().map(_block_statistics, blocks, cls, n_classes)
        return reduce(add, parts)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def second_moment(self) -> Array:
        """X'X (d, d)."""
        if self.gram is not None:
            return self.gram
        assert self.rows is not None  # one of the two is always there
        return self.rows.T @ self.rows

    @property
    def means(self) -> Array:
        """(C, d) mean of the samples of each class."""
        means: Array = self.sums / self.counts[:, None]
        return means

    def __add__(self, other: Self) -> Self:
        rows = None
        if self.rows is not None and other.rows is not None and self.n + other.n < self.sums.shape[1]:
            rows = np.vstack([self.rows, other.rows])
        gram = None if rows is not None else self.second_moment + other.second_moment
        return type(self)(self.sums + other.sums, self.counts + other.counts, gram, rows)

    def __sub__(self, other: Self) -> Self:
        gram = self.second_moment - other.second_moment
        return type(self)(self.sums - other.sums, self.counts - other.counts, gram, None)

    def without(self, X: Array, y: Labels, classes: Labels) -> Self:
        """The statistics without the samples of some classes, which are no longer listed; X and y are of all classes.

        Of a mapped file only the rows of those classes are read, block by block.
        """
        listed = np.ones(len(self.counts), dtype=bool)
        listed[classes] = False
        rows = np.flatnonzero(~listed[y])
        held_out = self._from_parts(X, y, len(listed), [rows[i : i + n] for i, n in _tasks(len(rows))])
        return (self - held_out).keep(listed)

    def keep(self, classes: Mask) -> Self:
        """The same samples with only these classes (C,) listed; the others must have none."""
        if self.counts[~classes].any():
            raise DataError("only classes without samples can be left out: subtract their statistics first")
        return type(self)(self.sums[classes], self.counts[classes], self.gram, self.rows)


def _tasks(n_rows: int) -> Iterator[tuple[int, int]]:
    """First row and number of rows of every task."""
    blocks = min(-(-n_rows // (BLOCK_ROWS * MIN_TASKS)), BLOCKS_OF_A_TASK)
    return ((i, blocks * BLOCK_ROWS) for i in range(0, n_rows, blocks * BLOCK_ROWS))


def _task_statistics(task: tuple[Rows, Labels], cls: type[S], n_classes: int) -> S:
    """The statistics of some rows, of which a block is in memory in double precision at a time."""
    rows, y = task
    d = rows.X.shape[1]
    sums, gram = np.zeros((n_classes, d)), np.zeros((d, d))
    for i, block in enumerate(rows.blocks(BLOCK_ROWS)):
        X = np.ascontiguousarray(block, dtype=np.float64)
        sums += class_sums(X, y[i * BLOCK_ROWS : i * BLOCK_ROWS + len(X)], n_classes)
        gram += X.T @ X
    return cls(sums, np.bincount(y, minlength=n_classes), gram, None)


def class_squares(samples: Rows, y: Labels, mean: Array, U: Array, centres: Array) -> Array:
    """Per class the sum of its samples' squared distances from its centre along each axis: (C, r).

    U (d, r) axes through the mean (d,), on which the centres (C, r) lie. These are known only once all samples have
    been summed, so this is a second pass over them, in the same tasks as the first.
    """
    parts = [slice(i, i + n) for i, n in _tasks(len(samples))]
    tasks = ((samples[part], y[part]) for part in parts)
    squares: Iterable[Array] = progress_bar(
        workers().map(_task_squares, tasks, mean, U, centres),
        total=len(parts),
        desc="spread of the classes",
        disable=len(parts) < MIN_TASKS,
    )
    return reduce(add, squares)


def _task_squares(task: tuple[Rows, Labels], mean: Array, U: Array, centres: Array) -> Array:
    rows, y = task
    squares = np.zeros(centres.shape)
    for i, block in enumerate(rows.blocks(BLOCK_ROWS)):
        labels = y[i * BLOCK_ROWS : i * BLOCK_ROWS + len(block)]
        squares += class_sums(np.square((block - mean) @ U - centres[labels]), labels, len(centres))
    return squares


def _block_statistics(block: tuple[Array, Labels], cls: type[S], n_classes: int) -> S:
    X, y = block
    return cls.from_samples(np.asarray(X, dtype=np.float64), y, n_classes)


def class_sums(X: Array, y: Labels, n_classes: int) -> Array:
    """``Y'X`` (n_classes, d) for one-hot Y: the sum of the samples of each class, without forming Y."""
    X = np.asarray(X, dtype=np.float64)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes))
    counts = np.diff(np.append(starts, len(y)))
    sums = np.zeros((n_classes, X.shape[1]))
    sums[counts > 0] = np.add.reduceat(X[order], starts[counts > 0], axis=0)
    return sums
