import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestESZSLNet(MethodContract):
    method = "eszsl_net"
    params = {"epochs": 12, "learning_rate": 0.02, "batch_size": 32}


def test_is_daezsl_with_masks_of_one():
    data = make_synthetic()
    params = {"epochs": 4, "validation_fraction": 0, "learning_rate": 0.02}
    network = make_method("eszsl_net", **params).fit(*data[:3])
    masked = make_method("daezsl", masks="ones", **params).fit(*data[:3])
    np.testing.assert_array_equal(network.W_, masked.W_)
    np.testing.assert_array_equal(network.class_masks(data.S_new), 1.0)
    np.testing.assert_allclose(network.classifiers(data.S_new), network.W_ @ data.S_new.T, rtol=1e-6)


@pytest.mark.slow
def test_long_training_reaches_the_least_squares_solution():
    data = make_synthetic()
    params = {"epochs": 1500, "validation_fraction": 0, "learning_rate": 0.05, "batch_size": 360}
    network = make_method("eszsl_net", **params).fit(*data[:3])
    closed = make_method("eszsl", gamma=1e-9, lam=1e-9).fit(*data[:3])
    Y = np.eye(len(data.S))[data.y]

    def error(model):
        return np.square(data.X @ model.W_ @ data.S.T - Y).sum()

    assert error(closed) <= error(network) < 1.05 * error(closed)
