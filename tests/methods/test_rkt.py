import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.oracles.rkt import rkt_sampled_classifiers
from tests.synthetic import make_synthetic


class TestRKT(MethodContract):
    method = "rkt"
    params = {"sparsity": 1e-3, "gamma": 0.1}
    floor = 0.6


@pytest.mark.parametrize("with_seen", [False, True])
def test_equals_the_regression_on_many_drawn_images(with_seen):
    data = make_synthetic()
    model = make_method("rkt", sparsity=1e-3, gamma=0.1, with_seen=with_seen).fit(*data[:3])
    P = model.classifiers(data.S_new)
    codes = model.relations(data.S_new)
    drawn = rkt_sampled_classifiers(codes, *data[:3], data.S_new, 0.1, 20_000, with_seen)
    np.testing.assert_allclose(P, drawn, atol=0.03 * np.abs(P).max())


def test_seen_moments_are_those_of_the_real_samples():
    """Without virtual data (weight zero) the mapping from means and covariance is plain ridge regression."""
    data = make_synthetic()
    model = make_method("rkt", with_seen=True).fit(*data[:3])
    second = (model.means_.T * model.counts_) @ model.means_ / len(data.X) + model.covariance_
    np.testing.assert_allclose(second, data.X.T @ data.X / len(data.X), atol=1e-12)
    cross = (model.means_.T * model.counts_) @ model.S_ / len(data.X)
    np.testing.assert_allclose(cross, data.X.T @ data.S[data.y] / len(data.X), atol=1e-12)


def test_relations_solve_the_lasso():
    """Optimality of every code: the residual's correlation is -+sparsity on its support and smaller elsewhere."""
    data = make_synthetic()
    sparsity = 0.02
    model = make_method("rkt", sparsity=sparsity).fit(*data[:3])
    codes = model.relations(data.S_new)
    correlation = (data.S_new - codes @ data.S) @ data.S.T
    used = codes != 0
    assert used.sum(axis=1).min() >= 1
    assert used.mean() < 0.5
    np.testing.assert_allclose(correlation[used], sparsity * np.sign(codes[used]), atol=1e-3)
    assert np.abs(correlation).max() <= sparsity + 1e-3


def test_a_seen_class_is_its_own_only_relation():
    data = make_synthetic(n_seen=8, a=12)
    model = make_method("rkt", sparsity=1e-6).fit(*data[:3])
    np.testing.assert_allclose(model.relations(data.S), np.eye(8), atol=0.02)


@pytest.mark.parametrize("bad", [{"sparsity": 0.0}, {"gamma": -1.0}])
def test_penalties_must_be_positive(bad):
    with pytest.raises(ValueError, match="must be positive"):
        make_method("rkt", **bad).fit(*make_synthetic()[:3])
