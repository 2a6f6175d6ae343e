import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.methods import make_method
from aezsl.methods.shared.prototypes import attribute_prior, class_posterior
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestDAP(MethodContract):
    method = "dap"
    params = {"C": 1.0}
    floor = 0.8


def binary_problem(noise=0.0, seed=0):
    """Images that show their class's 12 binary attributes plainly, in a rotated space."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 2, (60, 12)), axis=0)
    codes = codes[codes.any(axis=1)]
    S = rng.permutation(codes).astype(float)
    rotation = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    y = np.repeat(np.arange(len(S)), 5)
    X = (2 * S[y] - 1) @ rotation + noise * rng.normal(size=(len(y), 12))
    seen = y < 30
    return X[seen], y[seen], S[:30], X[~seen], y[~seen] - 30, S[30:]


def test_plain_attributes_of_unseen_classes_are_read_without_error():
    X, y, S, X_new, y_new, S_new = binary_problem(noise=0.05)
    model = make_method("dap", C=100.0).fit(X, y, S)
    np.testing.assert_array_equal(model.predict(X_new, S_new), y_new)


def test_perfect_attribute_probabilities_are_exact():
    rng = np.random.default_rng(1)
    B = np.unique(rng.integers(0, 2, (40, 10)), axis=0).astype(bool)
    p = np.where(B, 1 - 1e-9, 1e-9)
    scores = class_posterior(np.log(p), np.log1p(-p), B, attribute_prior(B))
    # Every attribute that differs costs log 1e-9, more than all priors together can give back.
    np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(len(B)))


def test_scores_are_the_logarithm_of_the_products_in_the_paper():
    data = make_synthetic()
    model = make_method("dap").fit(*data[:3])
    p = 1 / (1 + np.exp(-(data.X_new @ model.W_ + model.b_)))
    seen, target = data.S.mean(axis=0) < data.S, data.S_new > data.S.mean(axis=0)
    prior = seen.mean(axis=0)
    expected = [[np.prod(np.where(a, p_i, 1 - p_i) / np.where(a, prior, 1 - prior)) for a in target] for p_i in p]
    np.testing.assert_allclose(np.exp(model.decision_function(data.X_new, data.S_new)), expected, rtol=1e-8)


def test_an_attribute_that_never_varies_has_no_say():
    data = make_synthetic()
    plain = make_method("dap").fit(*data[:3]).decision_function(data.X_new, data.S_new)
    S, S_new = (np.hstack([S, np.full((len(S), 1), 0.5)]) for S in (data.S, data.S_new))
    S_new[::2, -1] = 0.9
    extra = make_method("dap").fit(data.X, data.y, S).decision_function(data.X_new, S_new)
    np.testing.assert_allclose(extra, plain, rtol=1e-6)


def test_classes_without_any_difference_are_refused():
    data = make_synthetic()
    with pytest.raises(DataError):
        make_method("dap").fit(data.X, data.y, np.ones_like(data.S))
