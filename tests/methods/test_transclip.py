import numpy as np
import pytest
from scipy.special import softmax

from aezsl.errors import ParameterError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from tests.methods.core.contract import PairedContract
from tests.synthetic import make_pair


class TestTransCLIP(PairedContract):
    method = "transclip"
    params = {"scale": 25.0}
    floor = 0.8


def literal(F, T, lam, scale, n_neighbors, rounds, inner):
    """The updates with loops over images and classes."""
    m, C, d = len(F), len(T), F.shape[1]
    W = np.zeros((m, m))
    for i in range(m):
        nearest = [j for j in np.argsort(-(F @ F[i]), kind="stable") if j != i][:n_neighbors]
        for j in nearest:
            W[i, j] = W[j, i] = max(0.0, F[i] @ F[j])
    y = np.array([softmax(scale * T @ f) for f in F])
    z, variances = y.copy(), np.full(d, 1 / d)
    means = np.array([sum(z[i, c] * F[i] for i in range(m)) / z[:, c].sum() for c in range(C)])
    for _ in range(rounds):
        for _ in range(inner):
            density = [[np.exp(-0.5 * np.sum((f - mu) ** 2 / variances)) for mu in means] for f in F]
            z = np.array([y[i] ** lam * density[i] * np.exp(W[i] @ z) for i in range(m)])
            z /= z.sum(axis=1, keepdims=True)
        means = np.array([sum(z[i, c] * F[i] for i in range(m)) / z[:, c].sum() for c in range(C)])
        variances = sum(z[i, c] * (F[i] - means[c]) ** 2 for i in range(m) for c in range(C)) / m
    return z.argmax(axis=1), means, variances


def test_it_follows_the_literal_updates():
    data = make_pair(n_seen=4, n_unseen=4, per_class=6, d=8)
    model = make_method("transclip", lam=0.7, scale=10.0, max_rounds=1, n_inner=2).fit(*data[:3])
    found = model.adapt(data.S_new, data.X_new)
    labels, means, variances = literal(data.X_new, data.S_new, 0.7, 10.0, 3, 1, 2)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.scorer.parts["means"], means, rtol=1e-8)
    np.testing.assert_allclose(1 / found.scorer.parts["precisions"], variances, rtol=1e-8)


@pytest.mark.parametrize(("name", "params"), [("transclip", {"scale": 10.0}), ("zlap", {})])
def test_the_pool_helps_and_without_one_the_order_is_that_of_the_cosine(name, params):
    data = make_pair(noise=0.3)
    cosine, model = make_method("cosine").fit(*data[:3]), make_method(name, **params).fit(*data[:3])
    alone = per_class_accuracy(data.y_new, cosine.predict(data.X_new, data.S_new))
    assert per_class_accuracy(data.y_new, model.predict(data.X_new, data.S_new)) > alone
    np.testing.assert_array_equal(
        model.adapt(data.S_new).predict(data.X_new), cosine.adapt(data.S_new).predict(data.X_new)
    )


@pytest.mark.parametrize(("name", "bad"), [("transclip", {"lam": 0.0}), ("zlap", {"alpha": 1.0})])
def test_parameters_set_after_fit_are_checked_by_adapt(name, bad):
    data = make_pair()
    model = make_method(name).fit(*data[:3]).set_params(**bad)
    with pytest.raises(ParameterError, match=f"^{next(iter(bad))} of"):
        model.adapt(data.S_new, data.X_new)
