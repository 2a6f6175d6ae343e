"""Choosing parameters on validation classes: seen classes that play unseen, never test labels."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import ZeroShotClassifier
from aezsl.methods._linalg import shared_decompositions

Labels = NDArray[np.integer[Any]]
Array = NDArray[np.floating[Any]]


def class_folds(
    n_seen: int,
    n_unseen: int,
    rule: str = "random",
    n_folds: int = 3,
    seed: int = 0,
    fraction: float | None = None,
) -> list[Labels]:
    """Validation classes of each fold, as row numbers of the seen semantics.

    The number of validation classes Cv keeps ``Cv / Cs = Ct / (Cs + Ct)``, as in the paper, unless ``fraction`` says
    Cv / Cs: with many more unseen than seen classes the paper's rule would leave hardly any to learn from.

    rule: ``first`` takes the first Cv classes in the data's own order, one fold, as the paper does (poor where
    the order follows topics); ``random`` draws ``n_folds`` seeded sets, disjoint for as long as classes last.
    """
    share = n_unseen / (n_seen + n_unseen) if fraction is None else fraction
    size = min(max(2, round(n_seen * share)), n_seen - 2)
    if size < 2:
        raise ValueError(f"cross-validation over classes needs at least 4 seen classes, got {n_seen}")
    if rule == "first":
        return [np.arange(size)]
    if rule != "random":
        raise ValueError(f"unknown validation rule {rule!r}; expected 'first' or 'random'")
    rng = np.random.default_rng(seed)
    order: Labels = np.empty(0, dtype=np.int64)
    folds = []
    for _ in range(n_folds):
        if len(order) < size:
            order = rng.permutation(n_seen)
        folds.append(np.sort(order[:size]))
        order = order[size:]
    return folds


def class_split(X: Array, y: Labels, S: Array, held_out: Labels) -> tuple[tuple[Array, Labels, Array], ...]:
    """The data as (training, validation), each X, y, S with labels numbered anew."""
    is_held_out = np.zeros(len(S), dtype=bool)
    is_held_out[held_out] = True
    parts = []
    for classes in (~is_held_out, is_held_out):
        renumbered = np.cumsum(classes) - 1
        rows = classes[y]
        parts.append((X[rows], renumbered[y[rows]], S[classes]))
    return tuple(parts)


def held_out_mask(y: NDArray[Any], fraction: float, seed: int) -> NDArray[np.bool_]:
    """A seeded share of the samples of every label, never all of them; True where a sample is held out."""
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(y), dtype=bool)
    for rows in pd.Series(np.arange(len(y))).groupby(y).groups.values():
        count = min(round(len(rows) * fraction), len(rows) - 1)
        mask[rng.choice(np.asarray(rows), count, replace=False)] = True
    return mask


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
