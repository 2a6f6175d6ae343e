"""Every point of a grid, in every normalisation, scored on validation classes, and the one to choose."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from aezsl.arrays import Array
from aezsl.data.normalise import PARTS, Normalisation, in_words
from aezsl.data.problem import Problem
from aezsl.kinds import Values
from aezsl.methods import METHODS, ZeroShotClassifier, make_method, method_class
from aezsl.methods.core.seen import SeenData
from aezsl.methods.core.two_stage import BasedMethod
from aezsl.selection.folds import class_folds, problem_folds
from aezsl.selection.race import Grid, grid_points
from aezsl.selection.settings import CalibrationSettings, SelectionSettings
from aezsl.selection.side_by_side import Generalized, cross_validate
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.ties import (
    clearly_best,
    compared_to_best,
    lead,
    most_cautious_first,
    most_central_first,
    moved_to_front,
    n_tied,
)

log = logging.getLogger(__name__)

#: Without unseen classes nothing says how many classes play unseen: a fifth.
FOR_ARRAYS = SelectionSettings(fraction=0.2)


class Selected(NamedTuple):
    """What a method works with."""

    parameters: dict[str, Any]
    normalisation: Normalisation  # one of the problem's


class Search(NamedTuple):
    """What is searched, and how it is judged: see ``select_in_every_way``."""

    init: Values
    grid: Grid
    ways: Sequence[Normalisation]
    going_with: Sequence[Values]
    settings: SelectionSettings
    calibration: CalibrationSettings | None


def select_parameters(
    name: str,
    problem: Problem,
    init: Values,
    grid: Grid,
    settings: SelectionSettings,
    store: SelectionStore,
    **options: Any,
) -> Selected:
    """The parameters to use, and the normalisation; arguments as in ``select_in_every_way``."""
    return select_in_every_way(name, problem, init, grid, settings, store, **options)[0]


def select_in_every_way(
    name: str,
    problem: Problem,
    init: Values,
    grid: Grid,
    settings: SelectionSettings,
    store: SelectionStore,
    normalisations: Sequence[Normalisation] | None = None,
    calibration: CalibrationSettings | None = None,
    going_with: Sequence[Values] | None = None,
) -> list[Selected]:
    """What to use in every normalisation: ``init`` and the grid's best point on validation classes. The best is first.

    settings : see ``class_folds``, and a ``criterion``. store : keeps the scores of all points; a former table is taken
    over where data, settings and code are still the same. normalisations : those of the problem among which to choose,
    by default all; the first is taken unless another is clearly better. calibration : of the generalized setting, where
    the criterion is one of it (see ``generalized_scores``); otherwise parameters are chosen for accuracy on the
    validation classes.
    going_with : parameters that go with each normalisation, such as those of a base that were chosen in it.
    """
    ways = list(problem.normalisations if normalisations is None else normalisations)
    fixed = [{}] * len(ways) if going_with is None else [dict(values) for values in going_with]
    points = grid_points(grid)
    if calibration is None or settings.criterion == "accuracy":
        settings, calibration = settings.model_copy(update={"criterion": "accuracy"}), None
    described = {"ways": ways, "going_with": fixed, "calibration": calibration and calibration.model_dump()}
    key = selection_key(problem.seen_fingerprint, name, dict(init), dict(grid), settings.model_dump(), described)
    table = store.find(key, len(ways) * len(points))
    if table is not None:
        log.info("%s: nothing has changed since parameters were selected; taking them over", name)
    else:
        table = _score_points(name, problem, Search(init, grid, ways, fixed, settings, calibration)).assign(key=key)
        store.save(table)
    best = table[table["best_in_way"]] if "best_in_way" in table else table[:1]
    found = [divmod(int(number), len(points)) for number in best["point"]]
    selected = [Selected({**init, **fixed[way], **points[point]}, ways[way]) for way, point in found]
    _say(name, problem, grid, settings, table, selected[0])
    return selected


def select(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    S: ArrayLike,
    settings: SelectionSettings = FOR_ARRAYS,
    given: Array | None = None,
    **fixed: Any,
) -> ZeroShotClassifier:
    """An unfitted method whose parameters are best on validation classes of these data, as a pipeline chooses them.

    X (n, d), y (n,) row numbers of S, S (Cs, a), all as the method will see them: nothing is normalised here.
    given : the semantics as they were given, where S has been moved: see ``fit``.
    fixed : parameters that are not searched. A method with a base takes what is best for the base alone first.
    """
    cls, seen = method_class(name), SeenData(X, y, S, given=given)  # refused by name where they do not fit together
    X, y, S = seen.X, seen.y, seen.S
    if issubclass(cls, BasedMethod):
        base = select(
            cls.base, X, y, S, settings, given, **{key: fixed[key] for key in fixed.keys() & _params(cls.base)}
        )
        fixed = {**base.get_params(), **fixed}
        if other := METHODS[name].or_refines:
            params = select(other, X, y, S, settings, given).get_params()
            fixed = {**{f"{other}_{key}": value for key, value in params.items()}, **fixed}
    grid = {key: values for key, values in cls.grid.items() if key not in fixed}
    method = make_method(name, **fixed)
    if not grid:
        return method
    folds = class_folds(len(S), 0, **settings.model_dump(exclude={"criterion", "search"}))
    table = cross_validate(method, X, y, S, folds, grid, given=given, search=settings.search)
    n_samples = sum(int(np.isin(y, fold).sum()) for fold in folds)
    best = _best_first(name, table, grid, n_samples).index[0]
    return make_method(name, **{**fixed, **grid_points(grid)[best]})


def _params(name: str) -> set[str]:
    return set(make_method(name).get_params())


def _say(
    name: str, problem: Problem, grid: Grid, settings: SelectionSettings, table: pd.DataFrame, chosen: Selected
) -> None:
    """What was chosen, how clear the choice is, and what another normalisation would have given."""
    criterion = settings.criterion
    log.info("%s: chose %s (validation %s %.4f)", name, chosen.parameters, criterion, table["mean"].iloc[0])
    if len(table) > 1:
        log.info(
            "%s: best %.4f, second %.4f, standard error %.4f: %d of %d points are within one of the best",
            name, *lead(table, _n_samples(problem, settings)), len(table),
        )  # fmt: skip
    own = table
    if "best_in_way" in table:
        best = table[table["best_in_way"]].sort_values("point")
        log.info("%s: chose %s; by way: %s", name, in_words(chosen.normalisation), _scores_by_way(best))
        own = table[(table[list(PARTS)] == table[list(PARTS)].iloc[0]).all(axis=1)]
    if (tied := n_tied(own)) > 1:
        classes = len(set(np.concatenate(problem_folds(problem, settings)).tolist()))
        log.warning(
            "%s: %d of %d points tie for the best %s on %d validation classes: the choice is arbitrary, "
            "the most %s is taken",
            name,
            tied,
            len(own),
            criterion,
            classes,
            "cautious" if method_class(name).cautious_by.keys() & grid.keys() else "central",
        )


def _scores_by_way(best: pd.DataFrame) -> str:
    return ", ".join(
        f"{features} and {semantics} {mean:.4f}"
        for features, semantics, mean in zip(*(best[column] for column in (*PARTS, "mean")), strict=True)
    )


def _n_samples(problem: Problem, settings: SelectionSettings) -> int:
    """How many images of validation classes are behind a score."""
    return sum(int(np.isin(problem.y_train, fold).sum()) for fold in problem_folds(problem, settings))


def _score_points(name: str, problem: Problem, search: Search) -> pd.DataFrame:
    """All points in all normalisations, the one to choose first."""
    init, grid, ways, going_with, settings, calibration = search
    if len(ways) * len(grid_points(grid)) == 1:  # nothing to choose, and the method may be slow to fit
        return pd.DataFrame({"point": [0], "mean": [float("nan")]})
    table = cross_validate(
        make_method(name, **init),
        *problem.seen_data[:3],
        problem_folds(problem, settings),
        grid,
        [problem.pending(way) for way in ways],
        problem.shared,
        None if calibration is None else Generalized(settings.criterion, calibration, settings.seed),
        going_with,
        problem.given_seen,
        settings.search,
    )
    table.insert(0, "point", table.index)
    n_samples = _n_samples(problem, settings)
    return _best_first(name, compared_to_best(table, n_samples), grid, n_samples)


def _best_first(name: str, table: pd.DataFrame, grid: Grid, n_samples: int) -> pd.DataFrame:
    """The table in the order of its scores, with the point to choose first.

    Whether points tie is a question of the grid, in each normalisation by itself. Where there are several,
    ``best_in_way`` marks the point that would be chosen in each; the first of them is used unless the best score of
    another one is clearly ahead of its own (``clearly_best``).
    """
    several = PARTS[0] in table
    ways = [own for _, own in table.groupby(list(PARTS), sort=False)] if several else [table]
    ways = [own.sort_values("mean", ascending=False, kind="stable") for own in ways]
    best = clearly_best([float(own["mean"].iloc[0]) for own in ways], n_samples)
    ways.insert(0, ways.pop(best))
    table = table.sort_values("mean", ascending=False, kind="stable")
    cautious = {key: sign for key, sign in method_class(name).cautious_by.items() if key in grid}
    first = [
        (most_cautious_first(own, cautious, n_samples) if cautious else most_central_first(own, grid)).index[0]
        if len(own) > 1
        else own.index[0]
        for own in ways
    ]
    if several:
        table["best_in_way"] = table.index.isin(first)
    return moved_to_front(table, first[0])
