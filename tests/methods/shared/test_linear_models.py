"""The shared solver against scikit-learn, which solves the same problems one at a time."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linear_models import LinearModels, softmax_models
from tests.synthetic import make_synthetic


@pytest.fixture(scope="module", params=[12, 120], ids=["tall", "wide"])
def data(request):
    return make_synthetic(n_seen=8, d=request.param)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_softmax_is_multinomial_logistic_regression(data, C):
    """Whatever is done for speed, it ends where the objective is least: W / C is the residual's product with X."""
    W, b = softmax_models(data.X + 3, data.y)(C)
    residual = softmax((data.X + 3) @ W + b, axis=1) - np.eye(len(data.S))[data.y]
    at_zero = np.abs(data.X.T @ (1 / len(data.S) - np.eye(len(data.S))[data.y])).max()
    np.testing.assert_allclose(data.X.T @ residual + W / C, 0, atol=1e-3 * at_zero)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-3 * len(data.X))


def test_softmax_of_two_classes_has_two_columns(data):
    two = data.y < 2
    W, b = softmax_models(data.X[two], data.y[two])(1.0)
    expected = LogisticRegression(tol=1e-8, max_iter=5000).fit(data.X[two], data.y[two]).predict_proba(data.X_new)
    np.testing.assert_allclose(softmax(data.X_new @ W + b, axis=1), expected, atol=1e-3)


def test_logistic_solves_every_column_by_itself(data):
    T = (data.S.mean(axis=0) < data.S)[data.y]
    W, b = LinearModels(SeenData(*data[:3]), tol=1e-8, max_iter=3000, dtype=np.float64).logistic(T, 1.0)
    for m in (0, 7):
        one = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000).fit(data.X, T[:, m])
        np.testing.assert_allclose(data.X_new @ W[:, m] + b[m], one.decision_function(data.X_new), atol=2e-3)


def test_svm_is_one_against_the_rest_with_squared_hinge(data):
    W, b = LinearModels(
        SeenData(*data[:3]), intercept=False, tol=1e-8, max_iter=3000, dtype=np.float64
    ).one_vs_rest_svm(data.y, len(data.S), 0.1)
    svm = LinearSVC(C=0.1, fit_intercept=False, dual=True, tol=1e-8, max_iter=100_000).fit(data.X, data.y)
    np.testing.assert_allclose(data.X_new @ W, svm.decision_function(data.X_new), atol=2e-3)
    np.testing.assert_array_equal(b, 0)


def test_the_default_precision_is_tight_enough_for_labels(data):
    T = (data.S.mean(axis=0) < data.S)[data.y]
    models = (
        LinearModels(SeenData(*data[:3])),
        LinearModels(SeenData(*data[:3]), tol=1e-8, max_iter=3000, dtype=np.float64),
    )
    F, expected = (data.X_new @ W + b for W, b in (model.logistic(T, 10.0) for model in models))
    assert np.mean((F > 0) == (expected > 0)) > 0.97


def test_solutions_are_kept_by_loss_and_strength(data):
    T = (data.S.mean(axis=0) < data.S)[data.y]
    models = LinearModels(SeenData(*data[:3]))
    first = models.logistic(T, 1.0)
    assert models.logistic(T, 1.0) is first
    assert models.logistic(T, 2.0) is not first
    assert models.one_vs_rest_svm(data.y, len(data.S), 1.0) is not first
    softmax_of = softmax_models(data.X, data.y)
    assert softmax_of(1.0) is softmax_of(1.0)
