import numpy as np
import pytest

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestConSE(MethodContract):
    method = "conse"
    params = {"C": 1.0, "T": 5}
    floor = 0.6


def test_one_hot_probabilities_return_that_class():
    data = make_synthetic()
    model = make_method("conse", T=len(data.S)).fit(*data[:3])
    model.W_ = np.zeros_like(model.W_)
    for k in (0, 7):
        model.b_ = np.where(np.arange(len(data.S)) == k, 0.0, -1e4)
        np.testing.assert_array_equal(model.embed(data.X_new), np.repeat(data.S[[k]], len(data.X_new), axis=0))


def test_equal_probabilities_return_the_mean_class():
    data = make_synthetic()
    model = make_method("conse", T=len(data.S)).fit(*data[:3])
    model.W_, model.b_ = np.zeros_like(model.W_), np.zeros_like(model.b_)
    np.testing.assert_allclose(model.embed(data.X_new[:1])[0], data.S.mean(axis=0))


@pytest.mark.parametrize("T", [1, 4, 30, 1000])
def test_equals_the_sum_over_the_likeliest_classes(T):
    data = make_synthetic()
    model = make_method("conse", T=T).fit(*data[:3])
    logits = data.X_new @ model.W_ + model.b_
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for f, p_i in zip(model.embed(data.X_new), p, strict=True):
        top = np.argsort(-p_i)[:T]
        np.testing.assert_allclose(f, sum(p_i[k] * data.S[k] for k in top) / p_i[top].sum(), rtol=1e-9, atol=1e-12)


def test_length_of_the_targets_does_not_matter():
    data = make_synthetic()
    model = make_method("conse").fit(*data[:3])
    scale = np.linspace(1, 9, len(data.S_new))[:, None]
    np.testing.assert_allclose(
        model.decision_function(data.X_new, data.S_new * scale), model.decision_function(data.X_new, data.S_new)
    )
