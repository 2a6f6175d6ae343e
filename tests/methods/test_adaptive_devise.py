import numpy as np

from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.synthetic import make_synthetic


class TestAdaptiveDeViSE(MethodContract):
    method = "adaptive_devise"
    params = {"learning_rate": 0.1, "n_epochs": 10, "batch_size": 16}


def test_own_passes_follow_the_order_of_the_plain_method_for_either_violator():
    data = make_synthetic(n_seen=8, per_class=6)
    for violator in ("all", "first"):
        plain, own = (
            make_method(name, violator=violator, n_epochs=4, batch_size=16, **more).fit(*data[:3])
            for name, more in (("devise", {}), ("adaptive_devise", {"weighting": "none", "n_own_epochs": 2}))
        )
        np.testing.assert_allclose(own.classifiers(data.S_new), plain.classifiers(data.S_new), rtol=1e-9, atol=1e-12)
