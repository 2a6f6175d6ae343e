import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.rkt import rkt_drawn_classifiers
from tests.synthetic import make_synthetic


class TestRKT(MethodContract):
    method = "rkt"
    params = {"sparsity": 1e-3, "gamma": 1.0, "lam": 0.1}
    floor = 0.6


@pytest.mark.parametrize("learn_from", ["virtual", "both", "seen"])
def test_equals_the_mapping_learnt_from_virtual_images(learn_from):
    data = make_synthetic()
    model = make_method("rkt", sparsity=1e-3, gamma=0.5, lam=0.1, learn_from=learn_from).fit(*data[:3])
    codes = model.relations(data.S_new)
    without_noise = rkt_drawn_classifiers(codes, *data[:3], data.S_new, 0.5, 0.1, learn_from, noise=0, n_drawn=1)
    np.testing.assert_allclose(model.classifiers(data.S_new), without_noise, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("learn_from", ["virtual", "both", "seen"])
def test_noise_of_virtual_images_adds_to_gamma(learn_from):
    data = make_synthetic(n_seen=20)
    noise, gamma = 0.2, 0.5
    codes = make_method("rkt", sparsity=1e-3).fit(*data[:3]).relations(data.S_new)
    more = noise**2 * (codes**2).sum() * len(data.X) / len(data.S)
    model = make_method("rkt", sparsity=1e-3, gamma=gamma + more, lam=0.1, learn_from=learn_from).fit(*data[:3])
    P = model.classifiers(data.S_new)
    drawn = rkt_drawn_classifiers(codes, *data[:3], data.S_new, gamma, 0.1, learn_from, noise, n_drawn=5000)
    np.testing.assert_allclose(P, drawn, atol=0.03 * np.abs(P).max())


@pytest.mark.parametrize("learn_from", ["both", "seen"])
def test_seen_targets_get_no_virtual_images(learn_from):
    """With nothing but seen classes to add, the mapping is that of ESZSL with labels of 1 and -1."""
    data = make_synthetic()
    model = make_method("rkt", gamma=2.0, lam=0.3, learn_from=learn_from).fit(*data[:3])
    Y = np.where(np.arange(len(data.S)) == data.y[:, None], 1.0, -1.0)
    W = np.linalg.solve(data.X.T @ data.X + 2 * np.eye(data.X.shape[1]), data.X.T @ Y @ data.S)
    W = W @ np.linalg.inv(data.S.T @ data.S + 0.3 * np.eye(data.S.shape[1]))
    unit = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)
    np.testing.assert_allclose(model.classifiers(data.S), W @ unit.T, rtol=1e-6, atol=1e-9)


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
