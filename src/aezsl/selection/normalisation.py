"""How vectors are normalised, chosen on validation classes where there are alternatives."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Array, Labels
from aezsl.data.normalise import fit_normaliser
from aezsl.data.once import Once
from aezsl.data.problem import Problem
from aezsl.data.statistics import SeenStatistics
from aezsl.methods import make_method
from aezsl.methods.seen import SeenData
from aezsl.methods.shared.linalg import moment_eigh
from aezsl.methods.targets import Targets
from aezsl.selection.folds import class_folds, class_split
from aezsl.selection.search import effective_grid, grid_points, score_points
from aezsl.selection.store import SelectionStore, selection_key

log = logging.getLogger(__name__)

#: Whose accuracy on validation classes decides.
REFERENCE = "eszsl"

Ways = Sequence[Sequence[str]]


def select_normalisation(
    problem: Problem, features: Ways, semantics: Ways, settings: Mapping[str, Any], store: SelectionStore
) -> dict[str, list[str]]:
    """The steps for features and for semantics with which ESZSL is best on validation classes.

    Every combination is scored by the best point of ESZSL's grid, in the mean over folds; of equal ones the first is
    taken, so the plainest should stand first. Means and scales come from the training part of each fold alone. One
    method chooses for all, so that methods are compared on one problem: ESZSL, because it learns from sums over the
    samples, and its whole grid costs little more than one decomposition of the features, which all alternatives of the
    semantics share. Another method may prefer another combination.

    problem : with vectors as their encoders gave them. features, semantics : alternatives, each a list of steps.
    settings : see ``class_folds``. store : keeps a row of scores per combination, the chosen one first.
    """
    pairs = list(product(features, semantics))
    grid = effective_grid(REFERENCE, {})
    described = {"pairs": pairs, "grid": grid, "settings": dict(settings)}
    key = selection_key(problem.seen_fingerprint, "normalisation", described)
    table = store.find(key, len(pairs))
    if table is None:
        table = _score_pairs(problem, features, semantics, grid, settings).assign(key=key)
        store.save(table)
    chosen = int(table["point"].iloc[0])
    first = table.loc[table["point"] == 0, "mean"].iloc[0]
    log.info(
        "normalisation: chose %s for features and %s for semantics (validation accuracy of %s %.4f; with the first "
        "of %d combinations %.4f)",
        *map(_joined, pairs[chosen]), REFERENCE, table["mean"].iloc[0], len(pairs), first,
    )  # fmt: skip
    return {part: list(steps) for part, steps in zip(("features", "semantics"), pairs[chosen], strict=True)}


def _score_pairs(
    problem: Problem,
    features: Ways,
    semantics: Ways,
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """One row per combination with its best point, the one to choose first."""
    points = grid_points(grid)
    folds = class_folds(len(problem.S_seen), len(problem.S_unseen), **settings)
    scores = np.array([list(_score_fold(problem, held_out, features, semantics, points)) for held_out in folds])
    means = scores.mean(axis=0)  # (pairs, points)
    rows = []
    for number, steps in enumerate(product(features, semantics)):
        best = int(means[number].argmax())
        of_folds = {f"score_{f}": score for f, score in enumerate(scores[:, number, best])}
        names = dict(zip(("features", "semantics"), map(_joined, steps), strict=True))
        rows.append({"point": number, **names, **points[best], **of_folds, "mean": means[number, best]})
    return pd.DataFrame(rows).sort_values("mean", ascending=False, kind="stable")


def _score_fold(
    problem: Problem, held_out: Labels, features: Ways, semantics: Ways, points: Sequence[Mapping[str, Any]]
) -> Iterator[list[float]]:
    """Scores of all points for one combination after the other, each normalised by what the fold learns from."""
    (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
    method = make_method(REFERENCE)
    for steps in features:
        normalise_features, rows = fit_normaliser(steps, X)
        statistics = SeenStatistics.from_samples(rows, y, len(S))
        spectrum, rows_val = moment_eigh(statistics), normalise_features(X_val)
        for semantic_steps in semantics:
            normalise_semantics, described = fit_normaliser(semantic_steps, S)
            seen = SeenData(statistics, None, described, spectra=_once("features", spectrum))
            targets = Targets(normalise_semantics(S_val), rows_val, len(points), progress=False)
            yield list(score_points(method, seen, [(y_val, rows_val, targets)], points))


def _once(key: str, value: tuple[Array, Array]) -> Once:
    """What is known already, for a fit that would compute it."""
    known = Once()
    known(key, lambda: value)
    return known


def _joined(steps: Sequence[str]) -> str:
    return "+".join(steps) or "no step"
