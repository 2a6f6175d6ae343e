"""The referees refereed: gradients against differences of their objectives, and one literal road against another."""

import numpy as np
import pytest

from tests.helpers.derivatives import central_differences
from tests.oracles import refinement
from tests.oracles.aezsl import aezsl_dense, aezsl_gradient, aezsl_objective, algorithm1
from tests.oracles.eszsl import one_hot
from tests.synthetic import make_synthetic

SMALL = {"n_seen": 5, "n_unseen": 3, "per_class": 2, "d": 4, "a": 3}


@pytest.mark.parametrize(
    "lambdas", [(0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.0, 2.0), (0.3, 0.7, 2.0)]
)
@pytest.mark.parametrize("nonnegative", [True, False], ids=["attributes", "negative cosines"])
def test_aezsl_gradient_is_the_derivative_of_its_objective(lambdas, nonnegative):
    data = make_synthetic(**SMALL, nonnegative=nonnegative)
    given = (*data[:3], data.S_new, *lambdas)
    W = np.random.default_rng(0).normal(size=(3, 4, 3))
    expected = central_differences(lambda at: aezsl_objective(at, *given).sum(), W)
    gradient, _ = aezsl_gradient(W, *given)
    np.testing.assert_allclose(gradient, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("weights", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0.3, 0, 0), (0, 0, 0.5, 0), (1, 0.3, 0.5, 0.1)])
def test_refinement_gradient_is_the_derivative_of_its_objective(weights):
    rng = np.random.default_rng(0)
    Xl, Xu = rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    Yl, Yu = one_hot(rng.integers(0, 3, 6), 3), one_hot(rng.integers(0, 3, 9), 3)
    H, S_hat = refinement.laplacian(refinement.graph_weights(Xu, 3)), refinement.transition(rng.uniform(size=(3, 5)))
    step = refinement.RefinementRound(Xl, Yl, Xu, Yu, H, S_hat, *weights, eps=1e-2)
    P = rng.normal(size=(4, 3))
    expected = central_differences(step.objective, P)
    np.testing.assert_allclose(step.gradient(P), expected, atol=1e-6 * np.abs(expected).max())


def test_algorithm_1_ends_at_the_dense_solution_and_traces_the_objective():
    data = make_synthetic(**SMALL)
    given = (*data[:3], data.S_new, 0.3, 0.7, 2.0)
    W, trace = algorithm1(*given, stop=lambda _: False, max_sweeps=500)
    expected = aezsl_dense(*given)
    np.testing.assert_allclose(W, expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(trace[-1], aezsl_objective(W, *given).sum(), rtol=1e-10)
    first, _ = algorithm1(*given, stop=lambda _: True)
    np.testing.assert_allclose(trace[0], aezsl_objective(first, *given).sum(), rtol=1e-10)
