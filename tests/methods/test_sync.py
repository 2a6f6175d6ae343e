import numpy as np
import pytest
from sklearn.svm import LinearSVC

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.sync import sync_objective
from tests.synthetic import make_synthetic


class TestSynC(MethodContract):
    method = "sync"
    params = {"lam": 1e-4, "scale": 0.5}
    floor = 0.6


@pytest.mark.parametrize("scale", [0.5, 200.0])
def test_seen_classes_get_their_own_linear_svms(scale):
    """Square similarities are undone exactly; for a large scale they are one-hot and V itself are the SVMs."""
    data = make_synthetic(n_seen=8)
    n, C, lam = len(data.X), 8, 1e-3
    model = make_method("sync", lam=lam, scale=scale).fit(*data[:3])
    svm = LinearSVC(C=1 / (lam * n * C), loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10)
    W = svm.fit(data.X, data.y).coef_
    np.testing.assert_allclose(model.classifiers(data.S).T, W, atol=2e-3 * np.abs(W).max())
    if scale == 200.0:
        np.testing.assert_allclose(model.V_, W, atol=2e-3 * np.abs(W).max())


def test_phantoms_are_their_own_nearest_and_weights_sum_to_one():
    data = make_synthetic()
    model = make_method("sync", scale=300.0).fit(*data[:3])
    unit = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)
    np.testing.assert_allclose(model._weights(unit), np.eye(30), atol=1e-3)
    soft = model.set_params(scale=0.3)._weights(unit)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    np.testing.assert_array_equal(soft.argmax(axis=1), np.arange(30))


@pytest.mark.parametrize("loss", ["ovo", "cs", "struct"])
def test_no_direction_lowers_the_written_objective(loss):
    """The minimum of the loss as the docstring writes it, over V, against steps in random directions."""
    data = make_synthetic(n_seen=6, per_class=6, d=8)
    lam = 1e-2
    model = make_method("sync", lam=lam, scale=0.7, loss=loss, max_iter=2000).fit(*data[:3])
    unit = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)
    weights = model._weights(unit)
    at = sync_objective(model.V_, weights, *data[:3], lam, loss)
    assert at < sync_objective(0 * model.V_, weights, *data[:3], lam, loss)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            step = np.linalg.pinv(weights) @ (size * rng.normal(size=model.V_.shape))
            assert sync_objective(model.V_ + step, weights, *data[:3], lam, loss) > at * (1 - 1e-3)
