import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.methods.shared.simplex import simplex_mixtures
from aezsl.methods.sse import margin_weights
from tests.methods.core.contract import MethodContract
from tests.oracles.sse import sse_objective, sse_pair_rows, sse_weights
from tests.synthetic import make_synthetic


class TestSSE(MethodContract):
    method = "sse"
    params = {"gamma": 0.1, "lam": 1.0}
    floor = 0.8


def test_scores_follow_the_formula():
    data = make_synthetic()
    model = make_method("sse").fit(*data[:3])
    np.testing.assert_allclose(model.V_, [data.X[data.y == c].mean(axis=0) for c in range(len(data.S))])
    psi = simplex_mixtures(data.S_new, data.S, 0.1)
    expected = [
        [sum(p[k] * (model.w_ @ np.minimum(x, model.V_[k])) for k in range(len(p))) for p in psi] for x in data.X_new
    ]
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), expected, rtol=1e-8)


def test_intersection_and_rectifier_are_one_method():
    data = make_synthetic()
    model = make_method("sse").fit(*data[:3])
    psi = simplex_mixtures(data.S_new, data.S, 0.1)
    rectified = np.array([np.maximum(0, data.X_new - v) @ -model.w_ for v in model.V_]).T @ psi.T
    difference = model.decision_function(data.X_new, data.S_new) - rectified
    np.testing.assert_allclose(difference, np.repeat(difference[:, :1], len(data.S_new), axis=1), atol=1e-8)


def objective(w, data, V, gamma, lam):
    """The margins over class means, pair by pair."""
    psi = simplex_mixtures(data.S, data.S, gamma)
    value = 0.5 * w @ w
    for c in range(len(data.S)):
        pi = np.array([(np.minimum(data.X[data.y == c], v) @ w).mean() for v in V])
        for k in range(len(data.S)):
            wanted = 1 - data.S[c] @ data.S[k] / np.linalg.norm(data.S[c]) / np.linalg.norm(data.S[k])
            value += lam * max(0.0, wanted - (psi[c] - psi[k]) @ pi) ** 2
    return value


def test_weights_minimise_the_objective():
    data = make_synthetic()
    model = make_method("sse", gamma=0.1, lam=1.0).fit(*data[:3])
    best = objective(model.w_, data, model.V_, 0.1, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = rng.normal(size=model.w_.shape)
        step *= 0.05 * np.linalg.norm(model.w_) / np.linalg.norm(step)
        assert objective(model.w_ + step, data, model.V_, 0.1, 1.0) > best


@pytest.mark.parametrize("max_rows", [50, 8192])
@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_newton_ends_where_a_general_optimiser_does(lam, max_rows):
    """Also where the Hessian is that of a few pairs for as long as many miss their margin."""
    rng = np.random.default_rng(0)
    M, psi, wanted = rng.normal(size=(9, 9, 12)), rng.dirichlet(np.ones(9), size=9), rng.uniform(0, 1, (9, 9))
    D = sse_pair_rows(M, psi)
    expected, _ = sse_weights(D, wanted, lam)
    w = margin_weights(M.astype(np.float32), psi, wanted, lam, max_rows)
    assert sse_objective(w, D, wanted, lam)[0] <= sse_objective(expected, D, wanted, lam)[0] * (1 + 1e-6)
    np.testing.assert_allclose(w, expected, atol=1e-3 * np.abs(expected).max())
