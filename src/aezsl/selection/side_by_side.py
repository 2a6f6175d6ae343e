"""The parts of a selection as tasks: side by side on threads or on a cluster, with the same scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    asked: list[tuple[int, Sequence[int]]]  # of the trial's normalisations, and which points in each


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
    asked: Mapping[int, Sequence[int]] | None = None,
) -> Iterator[list[Any]]:
    """The scores of all points on one fold after the other, by normalisation, then by point.

    With ``generalized`` they are seen-unseen curves instead. asked : normalisations and the numbers of points; all.

    Folds, in ways that share their features, are tasks for ``aezsl.machine.workers.workers()``, but for those of a
    method with threads of its own in this process. A task has no tasks of its own, so what is worth cutting is computed
    before.
    """
    asked = dict.fromkeys(range(len(trial.normalisations)), range(len(trial.points))) if asked is None else asked
    by_features = groupby(asked.items(), lambda item: tuple(trial.normalisations[item[0]]["features"]))
    groups = [list(items) for _, items in by_features]
    parts = [Part(fold, items) for fold in folds for items in groups]
    engine = workers()
    if len(parts) == 1 or (trial.method.own_threads and not engine.elsewhere):
        engine = Workers()
    X, y, S, given = data
    total = None if generalized else total_statistics(trial, data)
    rows = Rows(X, slice(None)), y, S, given
    if engine.elsewhere:
        trial = trial._replace(kept=None)  # it stays in this process
    common = Examination(trial, rows, total, generalized, None if engine.elsewhere else done)
    of_fold: list[Any] = []
    for found in engine.map(_examine_part, parts, common):
        if engine.elsewhere:
            done(len(found))
        of_fold += found
        if len(of_fold) == sum(map(len, asked.values())):
            yield of_fold
            of_fold = []


def _examine_part(part: Part, common: Examination) -> list[Any]:
    """A task: all points on one fold, in some of the normalisations."""
    trial, (rows, y, S, given), total, generalized, done = common
    if total is not None:
        trial.shared(TOTAL, lambda: total)  # what is shared stays behind when a task goes to another process
    trial, data = trial.in_ways(part.asked), SeenArrays(np.asarray(rows), y, S, given)
    scores: Iterator[Any] = conventional_scores(trial, data, part.held_out)
    if generalized:
        scores = generalized_curves(trial, data, part.held_out, generalized.calibration, generalized.seed)
    found = []
    for score in scores:
        found.append(score)
        if done is not None:
            done(1)
    return found
