"""Which of several points to take, and how much too good its score is."""

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aezsl.arrays import Array, Labels


def n_tied(table: pd.DataFrame) -> int:
    """How many points share the best score."""
    return int((table["mean"] == table["mean"].max()).sum())


class Lead(NamedTuple):
    """By how much the best points differ."""

    best: float
    second: float
    standard_error: float
    n_within: int  # points at most one standard error below the best, itself among them


def lead(table: pd.DataFrame, n_samples: int) -> Lead:
    """How clear the choice is among at least two points; n_samples: validation samples behind a score."""
    best, second = table["mean"].nlargest(2)
    error = standard_error(best, n_samples)
    return Lead(best, second, error, int((table["mean"] >= best - error).sum()))


def compared_to_best(table: pd.DataFrame, n_samples: int) -> pd.DataFrame:
    """The table with how far every point is ``behind`` the best, and whether by at most one standard error."""
    found = lead(table, n_samples)
    within = table["mean"] >= found.best - found.standard_error
    return table.assign(behind=found.best - table["mean"], within_error=within)


def standard_error(score: float, n_samples: int) -> float:
    """The standard error of a share of ``n_samples`` samples; an upper bound for other means of values from 0 to 1."""
    return float(np.sqrt(score * (1 - score) / n_samples))


def clearly_best(scores: Sequence[float], n_samples: int) -> int:
    """The place of the best score if it is ahead of the first by more than the standard error of a difference, else 0.

    n_samples : validation samples behind a score. The error is that of two independent shares; scores on the same
    samples differ by less, but those of one class go together, and validation classes are few.
    """
    best = int(np.argmax(scores))
    error = np.sqrt(2) * standard_error(scores[best], n_samples)
    return best if scores[best] > scores[0] + error else 0


def most_cautious_first(table: pd.DataFrame, by: Mapping[str, int], n_samples: int) -> pd.DataFrame:
    """The table with the row to choose first: the most cautious of those that chance can hardly tell from the best.

    by: whether larger (+1) or smaller (-1) values of a parameter are more cautious, the most important parameter first;
    None, which leaves something out, is the most cautious of all.
    n_samples: validation samples behind a score; a point within one standard error of the best is as good as the best.
    """
    best = float(table["mean"].max())
    as_good = table[table["mean"] >= best - standard_error(best, n_samples)]
    numbers = {name: pd.to_numeric(as_good[name]).fillna(sign * np.inf) for name, sign in by.items()}
    ascending = [*(sign < 0 for sign in by.values()), False]
    ordered = as_good.assign(**numbers).sort_values([*by, "mean"], ascending=ascending, kind="stable")
    return moved_to_front(table, ordered.index[0])


def most_central_first(table: pd.DataFrame, grid: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The table with the row to choose first: of those with the best score the one in their middle.

    A point's place is that of its values among the sorted values of the grid, each parameter from 0 to 1; parameters
    that are not numbers have no middle. Nearest to the mean place of the tied points comes first, then nearest to the
    middle of the grid, so that a corner, where next to nothing is regularised or all is, comes last.
    """
    tied = table[table["mean"] == table["mean"].max()]
    places = np.column_stack([_places(tied[name], values) for name, values in grid.items()])
    to_tied, to_middle = (np.square(places - centre).sum(axis=1).round(9) for centre in (places.mean(axis=0), 0.5))
    return moved_to_front(table, tied.index[np.lexsort((to_middle, to_tied))[0]])


def _places(column: "pd.Series[Any]", values: Sequence[Any]) -> Array:
    if len(set(values)) < 2 or not all(isinstance(value, Real) for value in values):
        return np.full(len(column), 0.5)
    order = np.unique(np.asarray(values, dtype=np.float64))
    return np.searchsorted(order, column.to_numpy(dtype=np.float64)) / (len(order) - 1)


def moved_to_front(table: pd.DataFrame, row: Any) -> pd.DataFrame:
    """The table with this row first, the others in their order."""
    ordered: pd.DataFrame = pd.concat([table.loc[[row]], table.drop(index=row)])
    return ordered


def optimism(table: pd.DataFrame, folds: Sequence[Labels]) -> float:
    """By how much the accuracy of the chosen point is too good, because it was chosen for it.

    On every fold the chosen point is compared with the one that is best on the folds without a class of this fold; of
    several that are equally good there, with their mean. 0 where no two folds are without a common class.

    table : of a selection, the chosen point first, a row per point with ``score_<fold>``.
    """
    names = [name for name in map(str, table) if re.fullmatch(r"score_\d+", name)]
    scores = table[names].dropna().to_numpy(dtype=np.float64)  # a race tries some points on one fold alone
    gains = []
    for f in range(len(names)):
        apart = [g for g in range(len(names)) if not np.isin(folds[g], folds[f]).any()]
        if apart:
            others = scores[:, apart].mean(axis=1)
            gains.append(scores[0, f] - scores[np.isclose(others, others.max(), rtol=0, atol=1e-12), f].mean())
    return float(np.mean(gains)) if gains else 0.0
