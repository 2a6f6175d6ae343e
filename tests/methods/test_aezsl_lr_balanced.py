from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.synthetic import make_synthetic


class TestAEZSLLRBalanced(MethodContract):
    method = "aezsl_lr_balanced"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1, "k": 20, "n_components": None, "gamma1": 3.0}

    def test_keeps_hubs_from_feeding_themselves(self):
        data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)
        params = {**self.params, "gamma1": 0.3}
        plain, balanced = (
            make_method(name, **params).fit(*data[:3]).predict(data.X_new, data.S_new)
            for name in ("aezsl_lr", self.method)
        )
        assert per_class_accuracy(data.y_new, balanced) > per_class_accuracy(data.y_new, plain) + 0.1
