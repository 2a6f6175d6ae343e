"""One update of the label refinement against the paper's literal formulas."""

import numpy as np
import pytest

from aezsl.methods.refinement.label_refinement import transition_matrix
from aezsl.methods.refinement.step import Step, Weights
from aezsl.methods.shared.graph import Smoothness, heat_kernel_graph
from tests.oracles import refinement as oracle
from tests.oracles.eszsl import one_hot


def random_step(weights, n_confident=30, n_unconfident=50, d=12, seed=0):
    """One round's problem, as the package poses it and as the paper does, with scores to start from."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_confident + n_unconfident, d))
    y = rng.integers(0, 5, len(X))
    y[n_confident:].sort()
    S_hat = transition_matrix(rng.uniform(size=(5, 7)))
    Xl, Xu, Y = X[:n_confident], X[n_confident:], one_hot(y, 5)
    K = Smoothness(heat_kernel_graph(Xu, 6), Xu).value
    step = Step(Xl.T @ Xl, Xl.T @ Y[:n_confident], n_confident, Xu, y[n_confident:], S_hat, K, weights)
    H = oracle.laplacian(oracle.graph_weights(Xu, 6))
    literal = oracle.RefinementRound(Xl, Y[:n_confident], Xu, Y[n_confident:], H, S_hat, *weights)
    return step, literal, rng.normal(size=(n_unconfident, 5))


WEIGHTS = [
    Weights(1.0, 0.1, 0.1, 1e-3, 1e-4),
    Weights(10.0, 0.0, 3.0, 1.0, 1e-4),
    Weights(0.1, 0.01, 0.0, 1e-6, 1e-2),
    Weights(3.0, 1.0, 1.0, 10.0, 1e-6),
]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_update_equals_the_literal_closed_form(weights):
    step, literal, F = random_step(weights)
    d = 1 / (2 * oracle.row_norms(F - literal.Yu, weights.eps))
    expected = literal.closed_form(np.diag(d))
    B = step.solve(weights.gamma1 * d)
    np.testing.assert_allclose(B, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(step.objective(B, step.Z @ B), literal.objective(B), rtol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_objective_never_increases(weights):
    step, _, F = random_step(weights)
    objectives = step.minimise(F, tol=0.0, max_iter=200).objectives
    assert len(objectives) > 3
    assert (np.diff(objectives) <= 1e-12 * np.abs(objectives[0])).all()
    assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_gradient_vanishes_at_convergence(weights):
    step, literal, F = random_step(weights)
    B = step.minimise(F, tol=0.0, max_iter=5000).B
    at_zero = np.linalg.norm(literal.gradient(np.zeros_like(B)))
    assert np.linalg.norm(literal.gradient(B)) < 1e-5 * at_zero
    rng = np.random.default_rng(1)  # convex: no neighbour is better
    assert all(
        literal.objective(B) <= literal.objective(B + 1e-3 * rng.normal(size=B.shape)) for _ in range(20)
    )  # fmt: skip


def test_start_does_not_matter_at_convergence():
    step, _, F = random_step(WEIGHTS[0])
    from_far = step.minimise(100 * F, tol=0.0, max_iter=5000).B
    np.testing.assert_allclose(step.minimise(F, tol=0.0, max_iter=5000).B, from_far, atol=1e-6)


def test_rows_that_fit_exactly_are_no_division_by_zero():
    # As many features as samples and one unconfident class only: every row of Q can vanish.
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(10, 20)), np.zeros(10, dtype=int)
    weights = Weights(10.0, 0.0, 0.0, 1e-8, 1e-4)
    step = Step(np.zeros((20, 20)), np.zeros((20, 3)), 0, X, labels, np.zeros((3, 3)), None, weights)
    result = step.minimise(one_hot(labels, 3), tol=0.0, max_iter=50)
    np.testing.assert_allclose(result.F, one_hot(labels, 3), atol=1e-6)
    assert np.isfinite(result.objectives).all()
