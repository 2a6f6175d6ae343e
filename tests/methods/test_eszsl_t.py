import numpy as np

from aezsl.methods import make_method
from tests.methods.contract import MethodContract


class TestESZSLT(MethodContract):
    method = "eszsl_t"
    params = {"gamma": 0.1, "lam": 0.1}

    def test_starts_from_eszsl(self, fitted, data):
        base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
        classifier = fitted.adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(classifier.rounds.start, base.predict(data.X_new, data.S_new))
