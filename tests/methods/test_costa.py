import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.synthetic import make_synthetic


class TestCOSTA(MethodContract):
    method = "costa"
    params = {"C": 0.1, "n_related": 5}
    floor = 0.8


@pytest.mark.parametrize("metric", ["dice", "normalised", "sqrt", "binary"])
def test_identity_similarities_copy_the_classifiers(metric):
    data = make_synthetic()
    one_hot = np.eye(len(data.S))
    model = make_method("costa", metric=metric, n_related=len(data.S)).fit(data.X, data.y, one_hot)
    np.testing.assert_array_equal(model.similarities(one_hot), one_hot)
    np.testing.assert_array_equal(model.classifiers(one_hot), model.W_)


@pytest.mark.parametrize("metric", ["dice", "normalised", "sqrt", "binary"])
@pytest.mark.parametrize("n_related", [1, 5, 100])
def test_weights_follow_their_formula(metric, n_related):
    data = make_synthetic(nonnegative=False)
    model = make_method("costa", metric=metric, n_related=n_related).fit(*data[:3])
    for u, weights in zip(data.S_new, model.similarities(data.S_new), strict=True):
        c = np.array([max(0.0, u @ k) for k in data.S])
        own = np.array([k @ k for k in data.S])
        dice = 2 * c / (u @ u + own)
        s = {"dice": dice, "normalised": c / own, "sqrt": np.sqrt(c / own), "binary": dice}[metric]
        related = [k for k in np.argsort(-s)[:n_related] if s[k] > 0]
        expected = np.zeros(len(s))
        expected[related] = 1 if metric == "binary" else s[related]
        np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-9)


def test_a_class_related_to_none_is_the_mean_of_all():
    data = make_synthetic()
    S = np.hstack([data.S, np.zeros((len(data.S), 1))])
    stranger = np.eye(S.shape[1])[-1:]
    model = make_method("costa").fit(data.X, data.y, S)
    np.testing.assert_allclose(model.classifiers(stranger)[:, 0], model.W_.mean(axis=1))


@pytest.mark.parametrize(("bad", "message"), [({"n_related": 0}, "at least 1"), ({"metric": "cosine"}, "dice")])
def test_bad_parameters_are_refused(bad, message):
    data = make_synthetic()
    with pytest.raises(ValueError, match=message):
        make_method("costa", **bad).fit(*data[:3])
