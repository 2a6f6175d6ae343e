"""The parts of a selection as tasks: side by side on threads or on a cluster, with the same scores."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.mapped_arrays import Rows
from aezsl.data.problem import SeenArrays
from aezsl.data.statistics import SeenStatistics
from aezsl.machine.workers import Workers, workers
from aezsl.selection.calibration import generalized_curves
from aezsl.selection.settings import CalibrationSettings
from aezsl.selection.validation import TOTAL, Trial, conventional_scores, total_statistics


class Generalized(NamedTuple):
    """What parameters are chosen for in the generalized setting: see ``generalized_scores``."""

    criterion: str
    calibration: CalibrationSettings
    seed: int  # of the images that are held out


class Part(NamedTuple):
    """A fold in the normalisations that have their features in common: a task."""

    held_out: Labels
    ways: slice  # of the trial's normalisations


class Examination(NamedTuple):
    """What all parts have in common."""

    trial: Trial
    data: tuple[Rows, Labels, Array, Array | None]  # as SeenArrays; rows of a mapped file stay there
    total: SeenStatistics | None  # of all samples, where these stay in a mapped file
    generalized: Generalized | None
    done: Callable[[int], object] | None  # is told how many more points there are, in the same process


def examine_folds(
    folds: Sequence[Labels],
    trial: Trial,
    data: SeenArrays,
    generalized: Generalized | None,
    done: Callable[[int], object],
) -> Iterator[list[Any]]:
    """The scores of all points on one fold after the other, by normalisation, then by point.

    With ``generalized`` they are seen-unseen curves instead.

    Folds, in ways that share their features, are tasks for ``aezsl.machine.workers.workers()``, but for those of a
    method with threads of its own in this process. A task has no tasks of its own, so what is worth cutting is computed
    before.
    """
    by_features = groupby(range(len(trial.normalisations)), lambda way: tuple(trial.normalisations[way]["features"]))
    groups = [list(ways) for _, ways in by_features]
    parts = [Part(fold, slice(ways[0], ways[-1] + 1)) for fold in folds for ways in groups]
    engine = workers()
    if len(parts) == 1 or (trial.method.own_threads and not engine.elsewhere):
        engine = Workers()
    X, y, S, given = data
    total = None if generalized else total_statistics(trial, data)
    rows = Rows(X, slice(None)), y, S, given
    common = Examination(trial, rows, total, generalized, None if engine.elsewhere else done)
    of_fold: list[Any] = []
    for found in engine.map(_examine_part, parts, common):
        if engine.elsewhere:
            done(len(found))
        of_fold += found
        if len(of_fold) == len(trial.normalisations) * len(trial.points):
            yield of_fold
            of_fold = []


def _examine_part(part: Part, common: Examination) -> list[Any]:
    """A task: all points on one fold, in some of the normalisations."""
    trial, (rows, y, S, given), total, generalized, done = common
    if total is not None:
        trial.shared(TOTAL, lambda: total)  # what is shared stays behind when a task goes to another process
    trial, data = trial.in_ways(part.ways), SeenArrays(np.asarray(rows), y, S, given)
    scores: Iterator[Any] = conventional_scores(trial, data, part.held_out)
    if generalized:
        scores = generalized_curves(trial, data, part.held_out, generalized.calibration, generalized.seed)
    found = []
    for score in scores:
        found.append(score)
        if done is not None:
            done(1)
    return found
