import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aezsl.methods import make_method
from aezsl.methods.sse import mixture_proportions, project_to_simplex
from tests.methods.contract import MethodContract
from tests.synthetic import make_synthetic


class TestSSE(MethodContract):
    method = "sse"
    params = {"gamma": 0.1, "lam": 1.0}
    floor = 0.8


@given(arrays(float, (3, 5), elements=st.floats(-10, 10)))
def test_projection_lands_on_the_simplex_and_nowhere_closer(A):
    P = project_to_simplex(A)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    # The nearest point p of a convex set: (a - p)'(q - p) <= 0 for every q in it; its corners suffice.
    assert (((A - P)[:, None] * (np.eye(5)[None] - P[:, None])).sum(axis=2) <= 1e-8).all()


def test_proportions_satisfy_the_optimality_conditions():
    data = make_synthetic()
    gamma = 0.05
    alpha = mixture_proportions(data.S_new, data.S, gamma)
    gradient = gamma * alpha - (data.S_new - alpha @ data.S) @ data.S.T
    # Equal and smallest where a class takes part, no smaller where it does not.
    excess = gradient - gradient.min(axis=1, keepdims=True)
    assert (excess[alpha > 1e-6] < 1e-6).all()


def test_a_seen_class_is_made_of_itself():
    alpha = mixture_proportions(np.eye(6), np.eye(6), 1e-6)
    np.testing.assert_allclose(alpha, np.eye(6), atol=1e-5)


def test_scores_follow_the_formula():
    data = make_synthetic()
    model = make_method("sse").fit(*data[:3])
    np.testing.assert_allclose(model.V_, [data.X[data.y == c].mean(axis=0) for c in range(len(data.S))])
    psi = mixture_proportions(data.S_new, data.S, 0.1)
    expected = [
        [sum(p[k] * (model.w_ @ np.minimum(x, model.V_[k])) for k in range(len(p))) for p in psi] for x in data.X_new
    ]
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), expected, rtol=1e-8)


def test_intersection_and_rectifier_are_one_method():
    data = make_synthetic()
    model = make_method("sse").fit(*data[:3])
    psi = mixture_proportions(data.S_new, data.S, 0.1)
    rectified = np.array([np.maximum(0, data.X_new - v) @ -model.w_ for v in model.V_]).T @ psi.T
    difference = model.decision_function(data.X_new, data.S_new) - rectified
    np.testing.assert_allclose(difference, np.repeat(difference[:, :1], len(data.S_new), axis=1), atol=1e-8)


def objective(w, data, V, gamma, lam):
    """The margins over class means, pair by pair."""
    psi = mixture_proportions(data.S, data.S, gamma)
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


@pytest.mark.parametrize("bad", [{"gamma": 0.0}, {"lam": -1.0}])
def test_bad_parameters_are_refused(bad):
    data = make_synthetic()
    with pytest.raises(ValueError, match="must be positive"):
        make_method("sse", **bad).fit(*data[:3])
