import numpy as np
import pytest
from scipy.linalg import solve

from aezsl.methods import make_method
from tests.methods.contract import MethodContract
from tests.oracles.eszsl import one_hot
from tests.synthetic import make_synthetic


class TestAMP(MethodContract):
    method = "amp"
    params = {"lam": 0.1, "k": 5}
    floor = 0.9


@pytest.mark.parametrize("k", [1, 5, 1000])
@pytest.mark.parametrize("bandwidth", [0.01, 0.4, 10.0])
def test_absorbing_probabilities_sum_to_one(k, bandwidth):
    data = make_synthetic()
    model = make_method("amp", k=k, bandwidth=bandwidth, image_bandwidth=bandwidth).fit(*data[:3])
    for targets in (data.S_new, np.vstack([data.S, data.S_new])):
        B, p = model.absorption(targets), model.decision_function(data.X_new, targets)
        for rows in (B, p):
            assert (rows >= -1e-9).all()
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)


def test_closed_form_is_where_long_walks_end():
    data = make_synthetic()
    model = make_method("amp", k=4, bandwidth=0.8).fit(*data[:3])
    D = ((data.S[:, None] - data.S[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    Q, R = model._step(D, ((data.S[:, None] - data.S_new[None]) ** 2).sum(axis=2), 0.8)
    chain = np.block([[Q, R], [np.zeros((len(R.T), len(Q))), np.eye(len(R.T))]])
    ended = np.linalg.matrix_power(chain, 2**14)[: len(Q), len(Q) :]
    np.testing.assert_allclose(model.absorption(data.S_new), ended, atol=1e-9)


def test_edges_lead_to_the_nearest_with_gaussian_weights():
    data = make_synthetic()
    model = make_method("amp", k=3).fit(*data[:3])
    D = ((data.S[:, None] - data.S[None]) ** 2).sum(axis=2)
    scale = np.mean([np.sort(row)[1:4].mean() for row in D])
    np.fill_diagonal(D, np.inf)
    to_target = ((data.S[:, None] - data.S_new[None]) ** 2).sum(axis=2)
    Q, R = model._step(D, to_target, 0.7)
    for i in range(len(D)):
        weights = {("Q", j): np.exp(-D[i, j] / (0.49 * scale)) for j in np.argsort(D[i])[:3]}
        weights |= {("R", j): np.exp(-to_target[i, j] / (0.49 * scale)) for j in np.argsort(to_target[i])[:3]}
        for j in range(D.shape[1]):
            np.testing.assert_allclose(Q[i, j], weights.get(("Q", j), 0) / sum(weights.values()), rtol=1e-6)
        for j in range(to_target.shape[1]):
            np.testing.assert_allclose(R[i, j], weights.get(("R", j), 0) / sum(weights.values()), rtol=1e-6, atol=1e-8)


def test_a_narrow_width_is_the_nearest_prototype_where_that_is_a_target():
    data = make_synthetic()
    model = make_method("amp", image_bandwidth=1e-3).fit(*data[:3])
    f = data.X_new @ model.W_
    to_target = ((f[:, None] - data.S_new[None]) ** 2).sum(axis=2)
    direct = to_target.min(axis=1) < ((f[:, None] - data.S[None]) ** 2).sum(axis=2).min(axis=1)
    assert direct.any()
    labels = model.predict(data.X_new, data.S_new)
    np.testing.assert_array_equal(labels[direct], to_target.argmin(axis=1)[direct])


def test_projection_is_ridge_regression():
    data = make_synthetic()
    model = make_method("amp", lam=0.3).fit(*data[:3])
    targets = one_hot(data.y, len(data.S)) @ data.S
    expected = solve(data.X.T @ data.X + 0.3 * np.eye(data.X.shape[1]), data.X.T @ targets)
    np.testing.assert_allclose(model.W_, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("bad", [{"lam": 0.0}, {"k": 0}, {"bandwidth": 0.0}, {"image_bandwidth": -1.0}])
def test_bad_parameters_are_refused(bad):
    data = make_synthetic()
    with pytest.raises(ValueError, match="must be positive and k at least 1"):
        make_method("amp", **bad).fit(*data[:3])
