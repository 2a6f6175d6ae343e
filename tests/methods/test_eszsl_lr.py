import numpy as np

from aezsl.methods import make_method
from tests.methods.contract import MethodContract


class TestESZSLLR(MethodContract):
    method = "eszsl_lr"
    params = {"gamma": 0.1, "lam": 0.1, "k": 20, "n_components": None, "gamma1": 3.0}

    def test_starts_from_eszsl(self, fitted, data):
        base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
        start = fitted.adapt(data.S_new, data.X_new).ranker
        np.testing.assert_allclose(start.classifiers, base.classifiers(data.S_new), rtol=1e-9)
        np.testing.assert_array_equal(fitted.get_state()["W_"], base.W_)
