"""Every point of a grid, scored on validation classes, and the one to choose."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Array, Labels
from aezsl.data.once import Once
from aezsl.data.problem import Problem
from aezsl.data.statistics import SeenStatistics
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.machine.progress import progress_bar
from aezsl.machine.workers import small_products
from aezsl.methods import ZeroShotClassifier, make_method, method_class
from aezsl.methods.seen import SeenData
from aezsl.methods.targets import Targets
from aezsl.selection.folds import MappedRows, class_folds, class_split, long_tail, mapped_split, predict
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.ties import most_cautious_first, most_central_first, n_tied

log = logging.getLogger(__name__)

#: What is validated on: labels, samples, and the classes to tell apart.
Pool = tuple[Labels, Array | MappedRows, Targets]


def select_parameters(
    name: str,
    problem: Problem,
    init: Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    store: SelectionStore,
) -> dict[str, Any]:
    """The parameters to use: ``init``, and the point of the grid that is best on validation classes.

    settings : see ``class_folds``. store : keeps the scores of all points; a former table is taken over where data,
    settings and code are still the same.
    """
    points = grid_points(grid)
    key = selection_key(problem.seen_fingerprint, name, dict(init), dict(grid), dict(settings))
    table = store.find(key, len(points))
    if table is not None:
        log.info("%s: nothing has changed since parameters were selected; taking them over", name)
    else:
        table = _score_points(name, problem, init, grid, settings).assign(key=key)
        store.save(table)
    chosen = {**init, **points[int(table["point"].iloc[0])]}
    log.info("%s: chose %s (validation accuracy %.4f)", name, chosen, table["mean"].iloc[0])
    if (tied := n_tied(table)) > 1:
        classes = len(set(np.concatenate(_folds(problem, settings)).tolist()))
        log.warning(
            "%s: %d of %d points tie for the best accuracy on %d validation classes: the choice is arbitrary, "
            "the most %s is taken",
            name,
            tied,
            len(points),
            classes,
            "cautious" if method_class(name).cautious_by.keys() & grid.keys() else "central",
        )
    return chosen


def _folds(problem: Problem, settings: Mapping[str, Any]) -> list[Labels]:
    return class_folds(len(problem.S_seen), len(problem.S_unseen), **settings)


def _score_points(
    name: str,
    problem: Problem,
    init: Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """All points, the one to choose first."""
    if len(grid_points(grid)) == 1:  # nothing to choose, and the method may be slow to fit
        return pd.DataFrame({"point": [0], "mean": [float("nan")]})
    folds = _folds(problem, settings)
    seen = problem.X_train, problem.y_train, problem.S_seen
    table = cross_validate(make_method(name, **init), *seen, folds, grid, problem.shared)
    table.insert(0, "point", range(len(table)))
    table = table.sort_values("mean", ascending=False, kind="stable")
    cautious = {key: sign for key, sign in method_class(name).cautious_by.items() if key in grid}
    if not cautious:
        return most_central_first(table, grid)
    n_samples = sum(int(np.isin(problem.y_train, fold).sum()) for fold in folds)
    return most_cautious_first(table, cautious, n_samples)


def effective_grid(name: str, grid: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """What is searched for the method ``name``: the grid of its class, with the values of ``grid`` where it has some.

    The parameters keep the class's order, others that ``grid`` names come behind them: any parameter can be searched.
    """
    if not isinstance(grid, Mapping):
        raise ValueError(f"{name}.grid must name parameters and their values, or be {{}}, got {grid!r}")
    cls = method_class(name)
    known = cls().get_params()
    for parameter, values in grid.items():
        if parameter not in known:
            near = get_close_matches(parameter, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes: {', '.join(sorted(known))}"
            raise ValueError(f"{name}.grid names {parameter!r}, which is not a parameter of {name}; {hint}")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{name}.grid.{parameter} must be a list of at least one value, got {values!r}")
    return {**cls.grid, **grid}


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the grid's values, the last parameter running fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def cross_validate(
    method: ZeroShotClassifier,
    X: Array,
    y: Labels,
    S: Array,
    folds: Sequence[Labels],
    grid: Mapping[str, Sequence[Any]],
    shared: Once | None = None,
) -> pd.DataFrame:
    """Mean per-class accuracy on the validation classes, for every point of the grid.

    One row per point: its parameters, ``score_<fold>`` for every fold, ``mean`` and ``std`` over folds.
    shared : keeps the folds' decompositions for other methods that are validated on the same folds.
    """
    shared = Once() if shared is None else shared
    points = grid_points(grid)
    scores = np.empty((len(points), len(folds)))
    bar = progress_bar(total=scores.size, desc=f"selecting {type(method).__name__}", unit="fit", leave=False)
    with bar, small_products():
        for f, held_out in enumerate(folds):
            pools, seen = _validation(method, X, y, S, held_out, shared, len(points))
            for p, score in enumerate(score_points(method, seen, pools, points)):
                scores[p, f] = score
                bar.update()
    table = _points_table(points)
    for f in range(len(folds)):
        table[f"score_{f}"] = scores[:, f]
    return table.assign(mean=scores.mean(axis=1), std=scores.std(axis=1))


def score_points(
    method: ZeroShotClassifier, seen: SeenData, pools: Sequence[Pool], points: Sequence[Mapping[str, Any]]
) -> Iterator[float]:
    """Mean per-class accuracy of every point, fitted on the seen data, over pools of validation classes."""
    for model in method.fit_points(seen, points):
        yield float(np.mean([per_class_accuracy(y, predict(model.adapt_to(targets), X)) for y, X, targets in pools]))


def _validation(
    method: ZeroShotClassifier, X: Array, y: Labels, S: Array, held_out: Labels, shared: Once, n_points: int
) -> tuple[list[Pool], SeenData]:
    """What is validated on, as labels, samples and targets, and what is learnt from.

    Samples in a mapped file (single precision) stay there for a method that learns from statistics: those of the
    validation classes are subtracted from those of all classes, which are computed once for all folds and methods.
    """
    X_val: Array | MappedRows
    if method.needs == "statistics" and X.dtype != np.float64:
        total = shared("statistics", lambda: SeenStatistics.from_samples(X, y, len(S)))
        X_val, y_val, S_val, S_training = mapped_split(X, y, S, held_out)
        spectra = shared(("fold of statistics", held_out.tobytes()), Once)
        seen = SeenData(total.without(X, y, held_out), None, S_training, spectra)
    else:
        training, (X_val, y_val, S_val) = class_split(X, y, S, held_out)
        seen = SeenData(*training, spectra=shared(("fold", held_out.tobytes()), Once))
    pools = []
    for rows in [np.arange(len(y_val)), *([long_tail(y_val)] if method.long_tailed_validation else [])]:
        part = X_val[rows]
        if isinstance(part, MappedRows) and method.transductive:
            part = part.loaded()
        pool = None if isinstance(part, MappedRows) else part
        pools.append((y_val[rows], part, Targets(S_val, pool, n_points, progress=False)))
    return pools, seen


def _points_table(points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per point; a column with None keeps it, where pandas would make it NaN."""
    columns = {}
    for name in points[0]:
        values = [point[name] for point in points]
        columns[name] = pd.Series(values, dtype=object) if any(value is None for value in values) else pd.Series(values)
    return pd.DataFrame(columns, index=range(len(points)))
