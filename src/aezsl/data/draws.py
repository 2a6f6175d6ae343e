"""Seeded draws of samples: a share of every class, and a part in which classes are of unlike size."""

from contextlib import suppress
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Labels, Mask
from aezsl.errors import DataError, ParameterError


def long_tail(y: Labels, ratio: float = 10.0, seed: int = 0) -> Labels:
    """Sorted rows of a part of the samples in which classes shrink evenly, in random order, down to 1 / ratio."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    kept = []
    for place, c in enumerate(classes):
        rows = np.flatnonzero(y == c)
        share = ratio ** (-place / max(len(classes) - 1, 1))
        kept.append(rng.choice(rows, max(1, round(len(rows) * share)), replace=False))
    return np.sort(np.concatenate(kept))


def held_out_mask(y: NDArray[Any], fraction: float, seed: int) -> Mask:
    """A seeded share of the samples of every label, never all of them; True where a sample is held out."""
    check_fraction(fraction)
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(y), dtype=bool)
    for rows in pd.Series(np.arange(len(y))).groupby(y).groups.values():
        count = min(round(len(rows) * fraction), len(rows) - 1)
        mask[rng.choice(np.asarray(rows), count, replace=False)] = True
    return mask


def check_fraction(fraction: float) -> None:
    """Refuse what is no share of something."""
    if not 0 < fraction < 1:
        raise ParameterError(f"fraction must be above 0 and below 1, got {fraction}")


#: How the images of a stream follow one another where it is no Dirichlet distribution: one class after another.
IN_TURN = "in_turn"


class Cell(NamedTuple):
    """A kind of pool.

    classes : how many are present: a number, ``1-4``, ``half`` or ``all``. Of a stream: how unevenly classes come, the
        parameter of a Dirichlet distribution, or ``in_turn``.
    size : images in a batch: a number, or ``all``.
    stream : whether batches follow one another.
    """

    classes: str
    size: str
    stream: bool = False

    @property
    def row(self) -> str:
        """What it has in common with cells of other sizes, in words."""
        if not self.stream:
            return {"1": "1 class", "half": "half of the classes"}.get(self.classes, f"{self.classes} classes")
        return "stream, one class after another" if self.classes == IN_TURN else f"stream, Dirichlet {self.classes}"

    @property
    def name(self) -> str:
        """As files and metrics are called."""
        return f"{'stream_' if self.stream else ''}{self.classes}_of_{self.size}"

    @property
    def varies(self) -> bool:
        """Whether two draws can differ."""
        return self.stream or (self.classes, self.size) != ("all", "all")


def make_cells(classes: str, sizes: str, streams: str) -> list[Cell]:
    """All cells of values that are joined by plus signs; a stream has no batch of all images."""
    rows, columns, orders = (text.split("+") if text else [] for text in (classes, sizes, streams))
    batches = [Cell(row, column) for row in rows for column in columns]
    return batches + [Cell(order, column, True) for order in orders for column in columns if column != "all"]


def check_classes(text: str) -> str:
    """Refuse what is no list of numbers of classes."""
    for part in text.split("+") if text else []:
        _bounds(part, 1)
    return text


def check_sizes(text: str) -> str:
    """Refuse what is no list of sizes of batches."""
    for part in text.split("+"):
        if part != "all" and not _is_count(part):
            raise ParameterError(f"expected numbers of images or all, joined by +: {part!r} is neither")
    return text


def check_streams(text: str) -> str:
    """Refuse what is no list of kinds of streams."""
    for part in text.split("+") if text else []:
        if part != IN_TURN and not _is_positive(part):
            raise ParameterError(f"expected positive numbers or {IN_TURN}, joined by +: {part!r} is neither")
    return text


def draw_pools(cell: Cell, y: Labels, number: int, seed: int, most_batches: int) -> list[Labels]:
    """Rows of the samples in every pool of a draw: of one batch, or of the first batches of a stream.

    y : (n,) classes of the samples. number : of the draw. A cell that the samples do not suffice for is refused with
    the reason.
    """
    rng = np.random.default_rng([seed, number, crc32(cell.name.encode())])
    if not cell.stream:
        return [_batch(cell, y, rng)]
    size = int(cell.size)
    n_batches = len(y) // size
    if n_batches < 2:
        raise DataError(f"{len(y)} images make no two batches of {size}")
    order = _in_turn(y, rng) if cell.classes == IN_TURN else _dirichlet(y, float(cell.classes), n_batches, rng)
    return [order[i * size : (i + 1) * size] for i in range(min(n_batches, most_batches))]


#: What parameters of a method with a pool must serve beside a pool of all samples and one with a long tail. A draw of
#: one to four classes would say too little.
HARD_CELLS = (Cell("half", "all"), Cell("5-25", "all"), Cell("all", "200"), Cell("all", "64"), Cell("half", "64"))


def all_kinds_of_pools(y: Labels) -> list[Labels]:
    """Rows of the samples in pools of every kind: all of them, a long tail, few classes, small ones.

    Kinds that the samples do not suffice for are left out.
    """
    pools = [np.arange(len(y)), long_tail(y)]
    for cell in HARD_CELLS:
        with suppress(DataError):
            pools += draw_pools(cell, y, 0, 0, 1)
    return pools


def _batch(cell: Cell, y: Labels, rng: np.random.Generator) -> Labels:
    """Images of classes drawn at random; one of every class where the batch has room, the others as they come.

    Where the images of the classes do not suffice there are more classes, up to the most that the cell allows.
    """
    present, sizes = np.unique(y, return_counts=True)
    low, high = _bounds(cell.classes, len(present))
    if low > len(present):
        raise DataError(f"there are {len(present)} classes with images")
    order = rng.permutation(len(present))
    n_classes = int(rng.integers(low, min(high, len(present)) + 1))
    if cell.size == "all":
        return np.flatnonzero(np.isin(y, present[order[:n_classes]]))
    size, within_reach = int(cell.size), sizes[order][: min(high, len(present))].cumsum()
    if within_reach[-1] < size:
        raise DataError(f"{len(within_reach)} classes have {within_reach[-1]} images")
    n_classes = max(n_classes, int(np.searchsorted(within_reach, size)) + 1)
    rows = rng.permutation(np.flatnonzero(np.isin(y, present[order[:n_classes]])))
    if n_classes <= size:
        _, first = np.unique(y[rows], return_index=True)
        rows = np.concatenate([rows[first], np.delete(rows, first)])
    return np.sort(rows[:size])


def _dirichlet(y: Labels, concentration: float, n_slots: int, rng: np.random.Generator) -> Labels:
    """All samples in an order in which every class falls into few slots: the fewer, the smaller the concentration.

    The shares of a class in the slots are drawn from a symmetric Dirichlet distribution; within a slot the order is
    random.
    """
    slots: list[list[Labels]] = [[] for _ in range(n_slots)]
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        ends = np.round(rng.dirichlet(np.full(n_slots, concentration)).cumsum() * len(rows)).astype(np.int64)
        for slot, part in zip(slots, np.split(rows, ends[:-1]), strict=True):
            slot.append(part)
    return np.concatenate([rng.permutation(np.concatenate(slot)) for slot in slots])


def _in_turn(y: Labels, rng: np.random.Generator) -> Labels:
    """All samples, one class after another, classes and the samples of each in random order."""
    return np.concatenate([rng.permutation(np.flatnonzero(y == c)) for c in rng.permutation(np.unique(y))])


def _bounds(classes: str, n_classes: int) -> tuple[int, int]:
    """The fewest and the most classes that are present, of so many."""
    if classes in ("half", "all"):
        n = max(1, n_classes // 2) if classes == "half" else n_classes
        return n, n
    low, _, high = classes.partition("-")
    if not (_is_count(low) and _is_count(high or low) and int(low) <= int(high or low)):
        raise ParameterError(f"expected numbers such as 12 or 1-4, half or all, joined by +: {classes!r} is none")
    return int(low), int(high or low)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < np.inf
    except ValueError:
        return False
