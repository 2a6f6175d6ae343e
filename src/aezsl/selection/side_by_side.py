"""The folds of a selection as tasks: side by side on threads or on a cluster, with the same scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.mapped_arrays import Rows
from aezsl.data.normalise import Normalisation
from aezsl.data.once import Once
from aezsl.data.statistics import SeenStatistics
from aezsl.machine.workers import Workers, workers
from aezsl.methods import ZeroShotClassifier
from aezsl.selection.calibration import generalized_curves
from aezsl.selection.validation import TOTAL, conventional_scores, total_statistics


class Generalized(NamedTuple):
    """What parameters are chosen for in the generalized setting: see ``generalized_scores``."""

    criterion: str
    calibration: Mapping[str, Any]
    seed: int  # of the images that are held out


class Examination(NamedTuple):
    """What all folds have in common."""

    method: ZeroShotClassifier
    data: tuple[Rows, Labels, Array]  # X, y, S
    total: SeenStatistics | None  # of all samples, where these stay in a mapped file
    points: Sequence[Mapping[str, Any]]
    normalisations: Sequence[Normalisation]
    shared: Once
    generalized: Generalized | None
    done: Callable[[int], object] | None  # is told how many more points there are, in the same process


def examine_folds(
    folds: Sequence[Labels],
    method: ZeroShotClassifier,
    data: tuple[Array, Labels, Array],
    points: Sequence[Mapping[str, Any]],
    normalisations: Sequence[Normalisation],
    shared: Once,
    generalized: Generalized | None,
    done: Callable[[int], object],
) -> Iterator[list[Any]]:
    """The scores of all points on one fold after the other, by normalisation, then by point.

    With ``generalized`` they are seen-unseen curves instead.

    Folds are tasks for ``aezsl.machine.workers.workers()``, but for those of a method with threads of its own in this
    process. A task has no tasks of its own, so what is worth cutting is computed before.
    """
    engine = workers()
    if len(folds) == 1 or (method.own_threads and not engine.elsewhere):
        engine = Workers()
    X, y, S = data
    total = None if generalized else total_statistics(method, data, normalisations, shared)
    common = Examination(
        method,
        (Rows(X, slice(None)), y, S),
        total,
        points,
        normalisations,
        shared,
        generalized,
        None if engine.elsewhere else done,
    )
    for found in engine.map(_examine_fold, folds, common):
        if engine.elsewhere:
            done(len(found))
        yield found


def _examine_fold(held_out: Labels, common: Examination) -> list[Any]:
    """A task: all points on one fold."""
    rows, y, S = common.data
    total = common.total
    if total is not None:
        common.shared(TOTAL, lambda: total)  # what is shared stays behind when a task goes to another process
    what = common.method, (np.asarray(rows), y, S), held_out, common.points, common.normalisations, common.shared
    generalized = common.generalized
    found = []
    for one in generalized_curves(*what, *generalized[1:]) if generalized else conventional_scores(*what):
        found.append(one)
        if common.done is not None:
            common.done(1)
    return found
