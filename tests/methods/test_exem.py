import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestEXEM(MethodContract):
    method = "exem"
    params = {"C": 10.0, "nu": 0.5, "gamma": 1.0}
    floor = 0.9


def class_means(Z, y):
    return np.array([Z[y == c].mean(axis=0) for c in np.unique(y)])


def test_exact_exemplars_are_the_nearest_class_mean():
    data = make_synthetic()
    # nu = 1 asks for zero tube width and a narrow kernel can pass through every point.
    model = make_method("exem", C=1e6, nu=1.0, gamma=50.0, standardise=False).fit(*data[:3])
    Z = (data.X - model.mean_) @ model.components_
    means = class_means(Z, data.y)
    np.testing.assert_allclose(model.exemplars(data.S), means, atol=2e-2 * np.abs(means).max())
    expected = NearestCentroid().fit(data.X, data.y).predict(data.X)
    assert np.mean(model.predict(data.X, data.S) == expected) > 0.99


def test_standardised_distance_divides_by_the_mean_deviation_within_classes():
    data = make_synthetic()
    model = make_method("exem", standardise=True).fit(*data[:3])
    Z = (data.X - model.mean_) @ model.components_
    deviation = np.mean([Z[data.y == c].std(axis=0, ddof=1) for c in range(len(data.S))], axis=0)
    np.testing.assert_allclose(model.deviation_, deviation, rtol=1e-8)
    Z_new = (data.X_new - model.mean_) @ model.components_
    expected = [[-np.sqrt(np.sum(((z - e) / deviation) ** 2)) for e in model.exemplars(data.S_new)] for z in Z_new]
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), expected, rtol=1e-8)


def test_scale_of_the_features_does_not_matter():
    data = make_synthetic()
    labels = [
        make_method("exem").fit(k * data.X, data.y, data.S).predict(k * data.X_new, data.S_new) for k in (1, 1e-3)
    ]
    np.testing.assert_array_equal(*labels)


def test_components_are_the_leading_ones_and_at_most_the_rank():
    data = make_synthetic()
    for wanted, got in ((5, 5), (500, 24)):
        model = make_method("exem", n_components=wanted).fit(*data[:3])
        assert model.components_.shape == (24, got)
        variance = np.var((data.X - model.mean_) @ model.components_, axis=0)
        np.testing.assert_allclose(variance, np.sort(np.linalg.eigvalsh(np.cov(data.X.T, ddof=0)))[::-1][:got])


def test_one_image_per_class_leaves_no_zero_to_divide_by():
    data = make_synthetic(per_class=1)
    model = make_method("exem", standardise=True).fit(*data[:3])
    assert np.isfinite(model.decision_function(data.X_new, data.S_new)).all()


def test_a_model_that_tells_no_class_from_another_says_so():
    data = make_synthetic()
    far = 1e6  # semantics so far apart that the kernel sees no two alike
    model = make_method("exem").fit(data.X, data.y, data.S * far)
    with pytest.warns(UserWarning, match="EXEM"):
        model.predict(data.X_new, data.S_new * far)
