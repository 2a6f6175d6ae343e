import numpy as np

from aezsl.methods import make_method
from tests.methods.contract import MethodContract


class TestAEZSLLROneStep(MethodContract):
    method = "aezsl_lr_one_step"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1, "n_components": None}

    def test_is_one_update_with_everything_unconfident(self, fitted, data):
        result = fitted.adapt(data.S_new, data.X_new)
        (record,) = result.history.itertuples()
        assert (record.confident, record.unconfident) == (0, len(data.X_new))
        np.testing.assert_array_equal(result.labels, result.scores(data.X_new).argmax(axis=1))

    def test_without_a_labelled_term_only_ratios_of_weights_count(self, fitted, data):
        scaled = make_method(self.method, **self.params, gamma1=10.0, nu=1e-2).fit(*data[:3])
        np.testing.assert_allclose(
            scaled.decision_function(data.X_new, data.S_new),
            fitted.decision_function(data.X_new, data.S_new),
            rtol=1e-6,
            atol=1e-8,
        )
