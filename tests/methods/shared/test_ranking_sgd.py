"""The ranking losses shared by SJE, LatEm and DeViSE, against loops over samples and finite differences."""

from typing import get_args

import numpy as np
import pytest

from aezsl.methods.shared.ranking_sgd import Violator, compatibilities, minimise_ranking_loss, ranking_loss
from tests.oracles.ranking import sampled_ranking_loss
from tests.synthetic import make_synthetic

SETTINGS = {"margin": 1.0, "learning_rate": 0.1, "n_epochs": 2, "batch_size": 20, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_synthetic(n_seen=9, per_class=5)


def random_maps(data, n_maps, seed=3):
    return np.random.default_rng(seed).normal(size=(n_maps, data.X.shape[1], data.S.shape[1])) * 0.3


@pytest.mark.parametrize("n_maps", [1, 3])
@pytest.mark.parametrize("violator", get_args(Violator))
def test_gradient_equals_finite_differences(data, violator, n_maps):
    W = random_maps(data, n_maps)
    direction = random_maps(data, n_maps, seed=4)

    def loss(at):
        return ranking_loss(at, *data[:3], 1.0, violator, np.random.default_rng(0))[0]

    _, gradient = ranking_loss(W, *data[:3], 1.0, violator, np.random.default_rng(0))
    step = 1e-6
    difference = (loss(W + step * direction) - loss(W - step * direction)) / (2 * step)
    np.testing.assert_allclose((gradient * direction).sum(), difference, rtol=1e-5)


@pytest.mark.parametrize("n_maps", [1, 3])
@pytest.mark.parametrize("violator", ["max", "all"])
def test_loss_equals_the_sum_over_samples(data, violator, n_maps):
    W = random_maps(data, n_maps)
    loss, _ = ranking_loss(W, *data[:3], 0.7, violator, np.random.default_rng(0))
    np.testing.assert_allclose(loss, sampled_ranking_loss(W, *data[:3], 0.7, violator))


@pytest.mark.parametrize("violator", ["random", "first"])
def test_drawn_violators_estimate_the_mean_over_classes(data, violator):
    """``random`` has the mean of ``all`` over the other classes; ``first`` the mean over the violating ones."""
    W = random_maps(data, 1)
    rng = np.random.default_rng(0)
    losses = [ranking_loss(W, *data[:3], 1.0, violator, rng)[0] for _ in range(4000)]
    np.testing.assert_allclose(np.mean(losses), sampled_ranking_loss(W, *data[:3], 1.0, violator), rtol=0.01)


def test_nothing_moves_once_every_margin_is_met(data):
    X = np.eye(9)
    S = np.eye(9)
    loss, gradient = ranking_loss(2 * np.eye(9)[None], X, np.arange(9), S, 1.0, "max", np.random.default_rng(0))
    assert loss == 0
    assert not gradient.any()


def test_compatibility_is_the_best_map_of_every_pair(data):
    W = random_maps(data, 3)
    F, best = compatibilities(W, data.X, data.S)
    each = np.einsum("nd,kda,ca->knc", data.X, W, data.S)
    np.testing.assert_allclose(F, each.max(axis=0))
    np.testing.assert_array_equal(best, each.argmax(axis=0))


def test_maps_stay_in_the_span_of_the_class_vectors():
    data = make_synthetic(n_seen=9, a=30)
    W = minimise_ranking_loss(*data[:3], violator="max", **SETTINGS)
    outside = np.linalg.svd(data.S)[2][9:]
    np.testing.assert_allclose(W @ outside.T, 0, atol=1e-12)


def test_descent_lowers_the_loss(data):
    losses = []
    for n_epochs in (1, 30):
        W = minimise_ranking_loss(*data[:3], violator="all", **{**SETTINGS, "n_epochs": n_epochs})
        losses.append(ranking_loss(W, *data[:3], 1.0, "all", np.random.default_rng(0))[0])
    assert losses[1] < 0.5 * losses[0]
