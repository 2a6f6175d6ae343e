import numpy as np
import pytest

from aezsl.data.statistics import SeenStatistics
from aezsl.methods import make_method
from aezsl.methods.shared.graph import whitened, whitening, within_class_factor
from tests.synthetic import make_synthetic


def statistics(data):
    return SeenStatistics.from_samples(data.X, data.y, len(data.S))


def within(data):
    means = np.array([data.X[data.y == c].mean(axis=0) for c in range(len(data.S))])
    rest = data.X - means[data.y]
    return rest.T @ rest / len(rest)


@pytest.mark.parametrize("shape", [{}, {"n_seen": 4, "per_class": 3, "d": 40}])  # more samples than features, and fewer
def test_distances_are_those_of_the_shrunk_within_class_covariance(shape):
    data = make_synthetic(noise=1.0, **shape)
    covariance = within(data)
    shrunk = covariance + 0.3 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    L = within_class_factor(statistics(data), 0.3)
    np.testing.assert_allclose(L @ L.T, shrunk, atol=1e-12)
    T = whitening(statistics(data), 0.3)
    difference = data.X_new[3] - data.X_new[10]
    moved = whitened(data.X_new, T)
    ratio = np.sum((moved[3] - moved[10]) ** 2) / (difference @ np.linalg.solve(shrunk, difference))
    other = data.X_new[5] - data.X_new[20]
    assert np.sum((moved[5] - moved[20]) ** 2) == pytest.approx(ratio * other @ np.linalg.solve(shrunk, other))
    assert np.sum(whitened(data.X, T) ** 2) == pytest.approx(np.sum(data.X**2))


def test_much_shrinkage_and_none_leave_distances_as_they_are():
    data = make_synthetic()
    np.testing.assert_allclose(whitening(statistics(data), 1e12), np.eye(data.X.shape[1]), atol=1e-9)
    assert whitened(data.X, whitening(statistics(data), None)) is data.X


def test_one_image_per_class_tells_nothing_of_the_metric():
    data = make_synthetic(per_class=1)
    np.testing.assert_allclose(whitening(statistics(data), 0.3), np.eye(data.X.shape[1]))


@pytest.mark.parametrize("name", ["jeac", "structured_prediction"])
def test_methods_in_the_metric_are_methods_on_whitened_samples(name):
    data = make_synthetic(noise=1.0)
    T = whitening(statistics(data), 0.3)
    plain = {"unit_length": False} if name == "structured_prediction" else {}
    found = make_method(name, shrinkage=0.3, gam=0.5, **plain).fit(*data[:3]).adapt(data.S_new, data.X_new)
    expected = make_method(name, gam=0.5, **plain).fit(data.X @ T, *data[1:3]).adapt(data.S_new, data.X_new @ T)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.scores(data.X_new), expected.scores(data.X_new @ T), atol=1e-8)
    np.testing.assert_allclose(found.history["objective"], expected.history["objective"], rtol=1e-9)


@pytest.mark.parametrize("name", ["max_margin", "lrl"])
def test_machines_in_the_metric_are_machines_on_whitened_samples(name):
    data = make_synthetic(noise=1.0)
    T = whitening(statistics(data), 0.3)
    params = {"single": False, "n_components": 12, "max_rounds": 1}
    found = make_method(name, shrinkage=0.3, **params).fit(*data[:3])
    expected = make_method(name, **params).fit(data.X @ T, *data[1:3])
    np.testing.assert_allclose(np.abs(found.rows_), np.abs(expected.rows_), atol=1e-9)  # axes have no sign
    labels = found.adapt(data.S_new, data.X_new).labels, expected.adapt(data.S_new, data.X_new @ T).labels
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("name", ["jeac", "structured_prediction"])
def test_what_varies_within_classes_no_longer_decides(name):
    """One direction in which the images of every class differ much, as drawings do by who drew them."""
    rng = np.random.default_rng(0)
    data = make_synthetic(noise=0.5)
    style = rng.normal(size=data.X.shape[1])
    X, pool = (A + np.outer(rng.normal(size=len(A)), 3 * style) for A in (data.X, data.X_new))
    accuracies = [
        np.mean(
            make_method(name, shrinkage=shrinkage, gam=0.1).fit(X, *data[1:3]).predict(pool, data.S_new) == data.y_new
        )
        for shrinkage in (None, 0.01)
    ]
    assert accuracies[0] < 0.6 < 0.9 < accuracies[1]
