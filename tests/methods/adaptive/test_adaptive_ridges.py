import numpy as np
import pytest
from sklearn.linear_model import Ridge

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.aezsl import cosines, one_hot
from tests.synthetic import make_synthetic


class TestAdaptiveESZSL(MethodContract):
    method = "adaptive_eszsl"
    params = {"gamma": 0.1, "lam": 0.1}


@pytest.mark.parametrize("shape", [{"d": 24, "a": 10}, {"d": 60, "a": 40, "per_class": 1}])
def test_gradient_of_every_target_s_objective_vanishes(shape):
    data = make_synthetic(n_unseen=3, **shape)
    gamma, lam = 0.3, 2.0
    P = make_method("adaptive_eszsl", gamma=gamma, lam=lam).fit(*data[:3]).classifiers(data.S_new)
    X, S, Y = data.X, data.S, one_hot(data.y, len(data.S))
    for s, a, p in zip(cosines(data.S_new, S), data.S_new, P.T, strict=True):
        D = np.diag(s**2)
        right = np.linalg.solve(S.T @ D @ S + lam * np.eye(S.shape[1]), (X.T @ Y @ D @ S).T).T
        W = np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), right)
        gradient = X.T @ (X @ W @ S.T - Y) @ D @ S + gamma * W @ S.T @ D @ S + lam * (X.T @ X @ W + gamma * W)
        assert np.abs(gradient).max() < 1e-9 * np.abs(X.T @ Y).max()
        np.testing.assert_allclose(p, W @ a, rtol=1e-7, atol=1e-10)


def test_is_aezsl_sim_with_the_regulariser_of_eszsl():
    data = make_synthetic()
    moved, moved_new = data.S - data.S.mean(axis=0), data.S_new - data.S.mean(axis=0)
    found = []
    for name, params in (
        ("adaptive_eszsl", {"gamma": 0.3, "lam": 2.0}),
        ("aezsl_sim", {"gamma": 0.3, "lambda1": 2.0, "lambda2": 0.6}),
    ):
        model = make_method(name, **params).fit(data.X, data.y, moved, data.S)
        found.append(model.adapt(moved_new, given=data.S_new).classifiers)
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-11)


class TestAdaptiveRidge(MethodContract):
    method = "adaptive_ridge"
    params = {"lam": 0.1}


def test_prototypes_are_those_of_a_weighted_regression():
    data = make_synthetic(n_unseen=3)
    found = make_method("adaptive_ridge", lam=2.0).fit(*data[:3]).adapt(data.S_new).classifiers
    for s, a, prototype in zip(cosines(data.S_new, data.S), data.S_new, found.T, strict=True):
        model = Ridge(alpha=2.0, fit_intercept=False).fit(data.S[data.y], data.X, sample_weight=s[data.y] ** 2)
        np.testing.assert_allclose(prototype, model.predict(a[None])[0], rtol=1e-7, atol=1e-9)
