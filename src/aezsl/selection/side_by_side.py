"""Points of a grid scored on validation classes, as tasks: side by side on threads or on a cluster, the same scores."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aezsl.arrays import Array, Labels
from aezsl.data.mapped_arrays import Rows
from aezsl.data.normalise import NOTHING, PARTS, Normalisation, steps_text
from aezsl.data.problem import SeenArrays
from aezsl.data.statistics import SeenStatistics
from aezsl.kinds import Values
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import Once, Workers, small_products, workers
from aezsl.methods import ZeroShotClassifier
from aezsl.methods.registry import spoken_name
from aezsl.selection.calibration import generalized_curves, generalized_scores
from aezsl.selection.race import SMALL, Asked, Grid, grid_points, race, with_distances
from aezsl.selection.settings import CalibrationSettings
from aezsl.selection.validation import TOTAL, Task, Trial, conventional_scores, total_statistics


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


def cross_validate(
    method: ZeroShotClassifier,
    X: Array,
    y: Labels,
    S: Array,
    folds: Sequence[Labels],
    grid: Grid,
    normalisations: Sequence[Normalisation] = (NOTHING,),
    shared: Once | None = None,
    generalized: Generalized | None = None,
    going_with: Sequence[Values] | None = None,
    given: Array | None = None,
    search: str = "exhaustive",
) -> pd.DataFrame:
    """Scores on the validation classes, for every point of the grid in every normalisation, or for those of a race.

    One row per normalisation and point: the steps, where there is a choice, the point's parameters,
    ``score_<fold>`` for every fold, ``mean`` and ``std`` over folds.
    normalisations : by which X and S are brought to scale, means and scales from what a fold learns from alone.
    shared : keeps the folds' decompositions for other methods that are validated on the same folds.
    generalized : what is scored where validation classes compete with seen ones; without, mean per-class accuracy.
    going_with : parameters that go with each normalisation.
    given : the semantics (Cs, b) as they were given, where S has been moved already.
    search : as in ``SelectionSettings``; where classes compete with seen ones, or points are few, all are tried.
    """
    shared = Once() if shared is None else shared
    points = grid_points(grid)
    total = len(normalisations) * len(points) * len(folds)
    bar = progress_bar(total=total, desc=f"selecting {spoken_name(method)}", unit="fit")
    racing = search == "race" and generalized is None and total > SMALL * len(folds)

    trial, data = Trial(method, points, normalisations, shared, going_with), SeenArrays(X, y, S, given)
    with bar, small_products():
        if racing:
            scores = _raced(trial, data, folds, grid, bar.update)
        else:
            found: list[Any] = list(zip(*examine_folds(folds, trial, data, generalized, bar.update), strict=True))
            if generalized:
                found = [generalized_scores(curves, *generalized[:2]) for curves in found]
            scores = np.array(found)
    table = _points_table(points * len(normalisations))
    if len(normalisations) > 1:
        for place, part in enumerate(PARTS):
            steps = [steps_text(normalisation[part]) for normalisation in normalisations]
            table.insert(place, part, np.repeat(steps, len(points)))
    for f in range(len(folds)):
        table[f"score_{f}"] = scores[:, f]
    table = table.assign(mean=with_distances(scores) if racing else scores.mean(axis=1), std=scores.std(axis=1))
    return table[~np.isnan(scores[:, 0])]


def _raced(trial: Trial, data: SeenArrays, folds: Sequence[Labels], grid: Grid, done: Callable[[int], object]) -> Array:
    """The scores (normalisations * points, folds) of a race; what it keeps of a fold goes with its normalisation."""
    kept: dict[Hashable, Task] = {}
    trial = trial._replace(kept=kept)

    def score(fold: int, asked: Asked) -> list[float]:
        for out in kept.keys() - {trial.name(folds[fold], way) for way in asked}:
            del kept[out]
        return next(examine_folds([folds[fold]], trial, data, None, done, asked))

    n_samples = [int(np.isin(data.y, fold).sum()) for fold in folds]
    return race(score, grid, len(trial.normalisations), n_samples).reshape(-1, len(folds))


def _points_table(points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per point; a column with None keeps it, where pandas would make it NaN."""
    columns = {}
    for name in points[0]:
        values = [point[name] for point in points]
        columns[name] = pd.Series(values, dtype=object) if any(value is None for value in values) else pd.Series(values)
    return pd.DataFrame(columns, index=range(len(points)))
