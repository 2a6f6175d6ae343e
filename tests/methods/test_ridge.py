import numpy as np
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestRidge(MethodContract):
    method = "ridge"
    params = {"lam": 0.1}


def test_the_nearest_prediction_of_a_regression_wins():
    data = make_synthetic()
    model = make_method("ridge", lam=2.0).fit(*data[:3])
    prototypes = Ridge(alpha=2.0, fit_intercept=False).fit(data.S[data.y], data.X).predict(data.S_new)
    distances = cdist(data.X_new, prototypes, "sqeuclidean")
    lengths = np.square(data.X_new).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), (lengths - distances) / 2, atol=1e-8)
