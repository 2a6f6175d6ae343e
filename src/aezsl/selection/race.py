r"""A grid searched without looking at all of it: coarse points in every normalisation, then what surrounds the best.

Scores are shares of the same validation images, so that two of them differ by chance by up to the standard error of a
difference, :math:`e = \sqrt{2 s (1 - s) / n}`. On the first fold

1. every second value of each parameter is tried, in every normalisation;
2. a normalisation is dropped that is behind the best one by more than e, or does not lead the first one, which is taken
   unless another one is clearly better (``ties.clearly_best``); the first one is dropped from 2 e on;
3. in the others the neighbours of the best point are tried, until the best point has no neighbour that was not.

On further folds only those points are tried that are behind the best of their normalisation by no more than e, at most
``CANDIDATES``. A point that was not keeps its distance to the best point of all on the first fold.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from aezsl.arrays import Array
from aezsl.selection.ties import standard_error

#: Points of a normalisation that are tried on further folds, at most.
CANDIDATES = 8
#: Grids of fewer points, in all normalisations, are searched as a whole.
SMALL = 12

#: Parameter -> values to search.
Grid = Mapping[str, Sequence[Any]]

#: Which points of which normalisations are asked for.
Asked = Mapping[int, Sequence[int]]

#: Gives the scores of what is asked on a fold, by normalisation, then by point.
Score = Callable[[int, Asked], Sequence[float]]


def grid_points(grid: Grid) -> list[dict[str, Any]]:
    """All combinations of the grid's values, the last parameter running fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def race(score: Score, grid: Mapping[str, Sequence[Any]], n_ways: int, n_samples: Sequence[int]) -> Array:
    """Scores (n_ways, points, folds) of what was tried, NaN elsewhere; n_samples : validation images of every fold."""
    axes = [_Axis(values) for values in grid.values()]
    shape = tuple(len(values) for values in grid.values())
    scores = np.full((n_ways, int(np.prod(shape)), len(n_samples)), np.nan)

    def ask(fold: int, asked: Asked) -> None:
        wanted = {way: new for way, points in asked.items() if (new := _unknown(scores[way, :, fold], points))}
        if wanted:
            found = iter(score(fold, wanted))
            for way, points in wanted.items():
                scores[way, points, fold] = [next(found) for _ in points]

    first = scores[:, :, 0]
    coarse = _numbers(product(*(axis.coarse for axis in axes)), shape)
    ask(0, dict.fromkeys(range(n_ways), coarse))
    alive = _alive(first, n_samples[0])
    while True:
        around = {way: _neighbours(int(np.nanargmax(first[way])), axes, shape) for way in alive}
        if not any(_unknown(first[way], points) for way, points in around.items()):
            break
        ask(0, around)
        alive = [way for way in alive if way in _alive(first, n_samples[0])]
    error = _error(float(np.nanmax(first)), n_samples[0])
    for fold in range(1, len(n_samples)):
        ask(fold, {way: _candidates(first[way], error) for way in alive})
    return scores


def with_distances(scores: Array) -> Array:
    """The mean score of every point over folds; of one that was tried on the first alone, by its distance there."""
    on_all = ~np.isnan(scores).any(axis=-1)
    means = np.where(on_all, scores.mean(axis=-1), np.nan)
    best = np.unravel_index(np.nanargmax(means), means.shape)
    estimated: Array = np.where(on_all, means, means[best] + np.minimum(scores[..., 0] - scores[(*best, 0)], 0.0))
    return estimated


class _Axis:
    """The values of a parameter in their order: of numbers every second one is coarse, of anything else every one."""

    def __init__(self, values: Sequence[Any]) -> None:
        numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
        order = sorted(range(len(values)), key=values.__getitem__) if numbers else list(range(len(values)))
        self.coarse = order[1::2] if numbers and len(values) > 3 else order
        place = {index: at for at, index in enumerate(order)}
        reach = 1 if numbers else 0
        self.near = [order[max(0, place[i] - reach) : place[i] + reach + 1] for i in range(len(values))]


def _numbers(places: Any, shape: tuple[int, ...]) -> list[int]:
    return sorted(int(np.ravel_multi_index(place, shape)) if shape else 0 for place in places)


def _neighbours(point: int, axes: Sequence[_Axis], shape: tuple[int, ...]) -> list[int]:
    """The point itself and those next to it in every parameter; of four or more in one of them at a time."""
    place = tuple(int(at) for at in np.unravel_index(point, shape)) if shape else ()
    if len(axes) < 4:
        return _numbers(product(*(axis.near[at] for axis, at in zip(axes, place, strict=True))), shape)
    moved = [(*place[:i], near, *place[i + 1 :]) for i, axis in enumerate(axes) for near in axis.near[place[i]]]
    return _numbers(set(moved), shape)


def _unknown(scores: Array, points: Sequence[int]) -> list[int]:
    return [point for point in points if np.isnan(scores[point])]


def _error(score: float, n_samples: int) -> float:
    return float(np.sqrt(2)) * standard_error(score, n_samples)


def _alive(scores: Array, n_samples: int) -> list[int]:
    """The normalisations that stay in the race."""
    best = np.nanmax(scores, axis=1)
    top = float(best.max())
    error = _error(top, n_samples)
    others = [way for way in range(1, len(best)) if best[way] > best[0] and best[way] >= top - error]
    return [0, *others] if best[0] >= top - 2 * error else others


def _candidates(scores: Array, error: float) -> list[int]:
    """The best points of a normalisation, those that chance can hardly tell from its best."""
    order = np.argsort(np.where(np.isnan(scores), -np.inf, scores))[::-1][:CANDIDATES]
    return sorted(int(point) for point in order if scores[point] >= np.nanmax(scores) - error)
