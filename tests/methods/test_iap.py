import numpy as np
import pytest
from scipy.special import softmax

from aezsl.errors import DataError
from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestIAP(MethodContract):
    method = "iap"
    params = {"C": 1.0}
    floor = 0.6


def test_scores_are_the_logarithm_of_the_products_in_the_paper():
    data = make_synthetic()
    model = make_method("iap", C=1.0).fit(*data[:3])
    seen, target = data.S.mean(axis=0) < data.S, data.S_new > data.S.mean(axis=0)
    prior = seen.mean(axis=0)
    p_class = softmax(data.X_new @ model.W_ + model.b_, axis=1)
    p = np.array(
        [[sum(p_i[k] for k in range(len(seen)) if seen[k, m]) for m in range(seen.shape[1])] for p_i in p_class]
    )
    expected = [[np.prod(np.where(a, p_i, 1 - p_i) / np.where(a, prior, 1 - prior)) for a in target] for p_i in p]
    np.testing.assert_allclose(np.exp(model.decision_function(data.X_new, data.S_new)), expected, rtol=1e-6)


def test_a_certain_seen_class_has_exactly_its_own_attributes():
    data = make_synthetic()
    model = make_method("iap").fit(*data[:3])
    model.W_ = np.zeros_like(model.W_)
    for k in (0, 11):
        model.b_ = np.where(np.arange(len(data.S)) == k, 0.0, -1e4)
        B = model.threshold_ < data.S
        twins = np.flatnonzero((B[k] == B).all(axis=1))
        assert model.predict(data.X[:1], data.S)[0] in twins


def test_classes_without_any_difference_are_refused():
    data = make_synthetic()
    with pytest.raises(DataError):
        make_method("iap").fit(data.X, data.y, np.ones_like(data.S))
