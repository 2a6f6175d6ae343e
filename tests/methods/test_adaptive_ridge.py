import numpy as np
from sklearn.linear_model import Ridge

from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.oracles.aezsl import cosines
from tests.synthetic import make_synthetic


class TestAdaptiveRidge(MethodContract):
    method = "adaptive_ridge"
    params = {"lam": 0.1}


def test_prototypes_are_those_of_a_weighted_regression():
    data = make_synthetic(n_unseen=3)
    found = make_method("adaptive_ridge", lam=2.0).fit(*data[:3]).adapt(data.S_new).classifiers
    for s, a, prototype in zip(cosines(data.S_new, data.S), data.S_new, found.T, strict=True):
        model = Ridge(alpha=2.0, fit_intercept=False).fit(data.S[data.y], data.X, sample_weight=s[data.y] ** 2)
        np.testing.assert_allclose(prototype, model.predict(a[None])[0], rtol=1e-7, atol=1e-9)
