"""The bootstrap agrees with one that draws every image, and covers what it should."""

import numpy as np
import pytest

from aezsl.evaluation import intervals
from aezsl.evaluation.intervals import class_mean_interval, paired_difference
from aezsl.evaluation.metrics import class_accuracies


@pytest.fixture
def outcome():
    """Ten classes of 3 to 30 samples; the second method errs where the first does, and elsewhere."""
    rng = np.random.default_rng(1)
    true = np.repeat(np.arange(10), np.arange(3, 33, 3))
    right = rng.random(len(true)) < rng.uniform(0.3, 0.9, 10)[true]
    return true, right, right & (rng.random(len(true)) < 0.9)


def literal_draws(true, *columns, n_draws=3000):
    """Classes drawn with replacement, then images within each, one by one: mean over classes of every column."""
    rng = np.random.default_rng(7)
    rows = [np.flatnonzero(true == c) for c in np.unique(true)]
    draws = []
    for _ in range(n_draws):
        picked = [rng.choice(rows[c], len(rows[c])) for c in rng.integers(0, len(rows), len(rows))]
        draws.append([np.mean([column[images].mean() for images in picked]) for column in columns])
    return np.array(draws)


def test_the_interval_is_that_of_drawing_every_image(outcome):
    true, right, _ = outcome
    expected = np.quantile(literal_draws(true, right)[:, 0], [0.025, 0.975])
    assert class_mean_interval(true, right) == pytest.approx(expected, abs=0.015)


def test_the_paired_difference_is_that_of_drawing_every_image(outcome):
    true, right, other = outcome
    found = paired_difference(true, right, other)
    draws = literal_draws(true, right, other)
    differences = draws[:, 0] - draws[:, 1]
    exact = np.nanmean(class_accuracies(true, np.where(right, true, -1), 10))
    exact -= np.nanmean(class_accuracies(true, np.where(other, true, -1), 10))
    assert found.mean == pytest.approx(exact)
    assert (found.low, found.high) == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.01)
    assert found.p < 0.05
    back = paired_difference(true, other, right)
    assert back.mean == pytest.approx(-found.mean)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=0.01)


def test_pairing_tells_more_than_two_intervals(outcome):
    true, right, other = outcome
    paired = paired_difference(true, right, other)
    assert paired.high - paired.low < np.ptp(class_mean_interval(true, right))


def test_methods_that_agree_on_every_image_do_not_differ(outcome):
    true, right, _ = outcome
    assert paired_difference(true, right, right) == (0.0, 0.0, 0.0, 1.0)


def test_everything_right_leaves_no_doubt_and_the_same_input_the_same_interval(outcome):
    true, right, _ = outcome
    assert class_mean_interval(true, np.ones(len(true), dtype=bool)) == (1.0, 1.0)
    assert class_mean_interval(true, right) == class_mean_interval(true, right)
    assert class_mean_interval(np.array([5]), np.array([True])) == (1.0, 1.0)


def test_blocks_only_save_memory(outcome, monkeypatch):
    true, right, _ = outcome
    whole = class_mean_interval(true, right)
    monkeypatch.setattr(intervals, "BLOCK", 70)
    assert class_mean_interval(true, right) == pytest.approx(whole, abs=0.02)
