"""Shares of a pool: the closed form against the literal problem, and what images tell of them."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from aezsl.data.statistics import SeenStatistics
from aezsl.methods.propagation.shares import Likeness, concentration, likeness, nearest_shares
from aezsl.methods.shared.graph import within_class_factor
from tests.oracles import propagation as oracle
from tests.synthetic import make_synthetic


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_shares_are_those_of_the_literal_problem(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(12, 0.4))
    most = 1 / 12 + rng.uniform(0.05, 0.9) * (shares @ shares - 1 / 12)
    found = nearest_shares(shares, most)
    np.testing.assert_allclose(found, oracle.best_shares(shares, most), atol=1e-5)
    assert found.sum() == pytest.approx(1)
    assert found @ found == pytest.approx(most)


def test_shares_that_are_even_enough_stay_as_they_are_and_the_least_bound_makes_all_alike():
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    np.testing.assert_array_equal(nearest_shares(shares, 0.38), shares)
    for most in (0.25, 0.1, 0.25 + 1e-12):
        np.testing.assert_allclose(nearest_shares(shares, most), np.full(4, 0.25), atol=1e-5)
    almost = nearest_shares(shares, 0.38 - 1e-9)
    np.testing.assert_allclose(almost, shares, atol=1e-4)


def seen_rows_in_metric(data, shrinkage=1.0):
    """Statistics of the seen images, the metric's factor, and the images less the mean of the classes in it."""
    statistics = SeenStatistics.from_samples(data.X, data.y, len(data.S))
    factor = within_class_factor(statistics, shrinkage)
    return statistics, factor, solve_triangular(factor, (data.X - statistics.means.mean(axis=0)).T, lower=True).T


def test_the_likeness_of_seen_classes_is_the_literal_mean_of_all_pairs():
    data = make_synthetic(per_class=4)
    statistics, factor, rows = seen_rows_in_metric(data)
    same, apart = oracle.mean_products(rows, data.y) / np.square(rows).sum(axis=1).mean()
    shift = 2 * (same - apart) / len(data.S)
    np.testing.assert_allclose(likeness(statistics, factor, 1.0), [same + shift, apart + shift], rtol=1e-9)


def test_without_two_images_of_a_class_nothing_is_known():
    data = make_synthetic(per_class=1)
    statistics, factor, _ = seen_rows_in_metric(data)
    known = Likeness(*likeness(statistics, factor, 1.0))
    assert known == (0, 0)
    assert concentration(np.eye(9), known, 8) == 1 / 8


@pytest.mark.parametrize("sizes", [[30] * 8, [60] * 4, [100, 100], [120, 60, 30, 15]])
def test_the_concentration_of_a_pool_is_that_of_its_classes(sizes):
    """Rows whose likeness is known: it finds the probability that two of them are of one class."""
    rng, d = np.random.default_rng(0), 400
    means = np.linalg.qr(rng.normal(size=(d, 8)))[0].T
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = means[y] + rng.normal(size=(len(y), d)) / np.sqrt(d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = concentration(X, Likeness(*oracle.mean_products(X, y)), 8)
    pairs = np.bincount(y)
    assert found == pytest.approx((pairs @ (pairs - 1)) / (len(y) * (len(y) - 1)), rel=1e-6) or found == 1 / 8


def test_a_pool_of_one_image_tells_nothing():
    assert concentration(np.eye(3)[:1], Likeness(0.4, 0.0), 5) == 0.2
