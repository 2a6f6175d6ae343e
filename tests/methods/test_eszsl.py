import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.eszsl import eszsl_objective_gradient, eszsl_solution
from tests.synthetic import make_synthetic


class TestESZSL(MethodContract):
    method = "eszsl"
    params = {"gamma": 0.1, "lam": 0.1}


# More samples than features and fewer; more semantic dimensions than classes and fewer; rank-deficient features.
SHAPES = [{"d": 24, "a": 10}, {"d": 500, "a": 10}, {"d": 24, "a": 60}, {"d": 500, "a": 60}]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("gamma", "lam"), [(1e-3, 1e3), (1.0, 1.0), (1e3, 1e-3)])
def test_equals_the_literal_formula(shape, gamma, lam):
    data = make_synthetic(**shape)
    W = make_method("eszsl", gamma=gamma, lam=lam).fit(*data[:3]).W_
    expected = eszsl_solution(*data[:3], gamma, lam)
    np.testing.assert_allclose(W, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_equals_the_literal_formula_on_rank_deficient_features():
    data = make_synthetic(d=24)
    X = np.hstack([data.X, data.X @ np.ones((24, 3))])
    W = make_method("eszsl", gamma=0.5, lam=0.5).fit(X, data.y, data.S).W_
    np.testing.assert_allclose(W, eszsl_solution(X, data.y, data.S, 0.5, 0.5), rtol=1e-8, atol=1e-10)


def test_gradient_of_the_objective_vanishes():
    data = make_synthetic()
    W = make_method("eszsl", gamma=0.3, lam=2.0).fit(*data[:3]).W_
    gradient, scale = eszsl_objective_gradient(W, *data[:3], 0.3, 2.0)
    assert np.linalg.norm(gradient) < 1e-8 * scale
