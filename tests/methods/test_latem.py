import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestLatEm(MethodContract):
    method = "latem"
    params = {"n_maps": 2, "learning_rate": 0.3, "n_epochs": 40, "batch_size": 16}


def test_one_map_with_the_worst_violator_is_sje():
    data = make_synthetic()
    sgd = {"learning_rate": 0.1, "n_epochs": 5, "random_state": 3}
    latem = make_method("latem", n_maps=1, violator="max", **sgd).fit(*data[:3])
    sje = make_method("sje", **sgd).fit(*data[:3])
    np.testing.assert_array_equal(latem.W_[0], sje.W_)
    np.testing.assert_allclose(
        latem.decision_function(data.X_new, data.S_new), sje.decision_function(data.X_new, data.S_new), rtol=1e-10
    )


@pytest.mark.parametrize("n_maps", [1, 3])
def test_score_is_the_best_of_the_maps(n_maps):
    data = make_synthetic()
    model = make_method("latem", n_maps=n_maps, learning_rate=0.1, n_epochs=2).fit(*data[:3])
    assert model.W_.shape == (n_maps, 24, 10)
    each = [data.X_new @ W_k @ data.S_new.T for W_k in model.W_]
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), np.max(each, axis=0))


def test_every_map_is_used():
    data = make_synthetic()
    model = make_method("latem", n_maps=2, learning_rate=0.3, n_epochs=10).fit(*data[:3])
    best = np.argmax([data.X @ W_k @ data.S.T for W_k in model.W_], axis=0)
    assert 0.05 < best.mean() < 0.95
