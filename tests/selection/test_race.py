"""The race: what it tries, what it drops, and that it finds what the exhaustive search finds."""

from itertools import product

import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.selection import class_folds, cross_validate
from aezsl.selection.race import race, with_distances
from aezsl.selection.ties import standard_error
from tests.synthetic import make_synthetic

GRID = {"a": [0.1, 1.0, 10.0, 100.0, 1000.0, 1e4, 1e5], "b": [1, 2, 3, 4, 5, 6, 7], "c": ["x", "y"]}
POINTS = list(product(range(7), range(7), range(2)))


def hill(peaks, top=0.6):
    """Scores of every way and point that fall from one peak in each way; ``asked`` keeps what was asked for."""
    asked = []

    def score(fold, wanted):
        asked.append((fold, {way: list(points) for way, points in wanted.items()}))
        return [
            top + gain - 0.01 * np.abs(np.subtract(POINTS[point], peak)).sum()
            for way, points in wanted.items()
            for peak, gain in [peaks[way]]
            for point in points
        ]

    return score, asked


@pytest.mark.parametrize("peak", [(0, 0, 0), (6, 6, 1), (3, 2, 0), (0, 5, 1)])
def test_the_top_of_a_hill_is_found_with_a_part_of_the_points(peak):
    score, asked = hill({0: (peak, 0)})
    scores = race(score, GRID, 1, [1000])
    assert POINTS[np.nanargmax(scores[0, :, 0])] == peak
    assert np.isfinite(scores).sum() < 0.6 * len(POINTS)
    tried = [point for _, wanted in asked for point in wanted[0]]
    assert len(tried) == len(set(tried))  # no point twice


def test_a_normalisation_that_is_clearly_behind_or_does_not_lead_the_first_is_dropped():
    peaks = {0: ((3, 3, 0), 0), 1: ((0, 0, 0), -0.3), 2: ((6, 6, 0), 0.03), 3: ((6, 6, 0), -0.01)}
    score, asked = hill(peaks)
    race(score, GRID, 4, [1000])
    assert asked[0][1].keys() == {0, 1, 2, 3}
    assert {way for _, wanted in asked[1:] for way in wanted} == {0, 2}


def test_the_first_normalisation_is_dropped_where_it_cannot_be_taken():
    score, asked = hill({0: ((3, 3, 0), -0.2), 1: ((6, 6, 1), 0)})
    race(score, GRID, 2, [1000])
    assert {way for _, wanted in asked[1:] for way in wanted} == {1}


def test_further_folds_see_what_is_near_the_best_and_others_keep_their_distance():
    score, asked = hill({0: ((3, 3, 0), 0), 1: ((3, 3, 0), -0.3)})
    scores = race(score, GRID, 2, [1000, 900])
    (later,) = (wanted for fold, wanted in asked if fold == 1)
    error = np.sqrt(2) * standard_error(0.6, 1000)
    assert later.keys() == {0}
    assert all(scores[0, point, 0] >= 0.6 - error for point in later[0])
    scores[..., 1] -= 0.1  # a harder fold
    means = with_distances(scores)
    assert np.nanmax(means[0]) == pytest.approx(0.55)
    assert np.nanmax(means[1]) == pytest.approx(0.25)


def test_points_that_are_tried_have_the_scores_of_the_exhaustive_search():
    data, ways = make_synthetic(), [{"features": f, "semantics": s} for f in (("l2",), ()) for s in (("l2",), ())]
    grid = make_method("eszsl").grid
    folds = class_folds(30, 8, n_folds=2)
    full, raced = (
        cross_validate(make_method("eszsl"), *data[:3], folds, grid, ways, search=search)
        for search in ("exhaustive", "race")
    )
    assert 0 < len(raced) < 0.6 * len(full)
    known = raced.dropna()
    assert len(known)
    assert known.equals(full.loc[known.index])
