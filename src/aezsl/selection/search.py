"""Every point of a grid, scored on validation classes, and the one to choose."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from aezsl.arrays import Array, Labels
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import ZeroShotClassifier, method_class
from aezsl.methods.shared.linalg import shared_decompositions
from aezsl.selection.folds import class_split


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
) -> pd.DataFrame:
    """Mean per-class accuracy on the validation classes, for every point of the grid.

    One row per point: its parameters, ``score_<fold>`` for every fold, ``mean`` and ``std`` over folds.
    """
    points = grid_points(grid)
    scores = np.empty((len(points), len(folds)))
    progress = tqdm(total=scores.size, desc=f"selecting {type(method).__name__}", unit="fit", leave=False)
    with shared_decompositions(), progress as bar:
        for f, held_out in enumerate(folds):
            training, (X_val, y_val, S_val) = class_split(X, y, S, held_out)
            for p, model in enumerate(method.fit_path(*training, points)):
                scores[p, f] = per_class_accuracy(y_val, model.predict(X_val, S_val))
                bar.update()
    table = _points_table(points)
    for f in range(len(folds)):
        table[f"score_{f}"] = scores[:, f]
    return table.assign(mean=scores.mean(axis=1), std=scores.std(axis=1))


def most_cautious(table: pd.DataFrame, by: Mapping[str, int], n_samples: int) -> pd.DataFrame:
    """The table with the row to choose first: the most cautious one of those that chance can hardly tell from the best.

    by: whether larger (+1) or smaller (-1) values of a parameter are more cautious, the most important parameter first.
    n_samples: validation samples behind a score; a point within one standard error of the best is as good as the best.
    """
    best = float(table["mean"].max())
    as_good = table[table["mean"] >= best - np.sqrt(best * (1 - best) / n_samples)]
    ascending = [*(sign < 0 for sign in by.values()), False]
    first = as_good.sort_values([*by, "mean"], ascending=ascending, kind="stable").index[0]
    ordered: pd.DataFrame = pd.concat([table.loc[[first]], table.drop(index=first)])
    return ordered


def _points_table(points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per point; a column with None keeps it, where pandas would make it NaN."""
    columns = {}
    for name in points[0]:
        values = [point[name] for point in points]
        columns[name] = pd.Series(values, dtype=object) if any(value is None for value in values) else pd.Series(values)
    return pd.DataFrame(columns, index=range(len(points)))
