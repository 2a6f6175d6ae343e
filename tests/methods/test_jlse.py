import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from aezsl.methods import make_method
from aezsl.methods.jlse import match_bound, match_weights
from aezsl.methods.shared.simplex import simplex_mixtures
from tests.methods.contract import MethodContract
from tests.oracles.jlse import jlse_pair_objective
from tests.synthetic import make_synthetic


class TestJLSE(MethodContract):
    method = "jlse"
    params = {"n_atoms": 20, "lam_w": 1e-4, "lam_s": 0.01}


@pytest.fixture(scope="module")
def fitted():
    data = make_synthetic(n_seen=10, per_class=6)
    return data, make_method("jlse", n_atoms=8, lam_w=1e-3, precision=2.0).fit(*data[:3])


def test_match_bound_is_the_maximum_over_the_code():
    rng = np.random.default_rng(0)
    t, room = rng.normal(size=(6, 4)) * 3, rng.uniform(0.01, 20, 4)
    bound = match_bound(t, room)
    for i, c in np.ndindex(t.shape):
        best = minimize_scalar(lambda u, i=i, c=c: np.logaddexp(0, -(t[i, c] + u)) + u**2 / (2 * room[c]))
        np.testing.assert_allclose(bound[i, c], -best.fun, atol=1e-7)


def test_score_is_the_written_bound_up_to_what_is_common_to_all_classes(fitted):
    """max over v of log p_D(v | x) + log p_W(match | z, v), by a general optimiser over the whole code v."""
    data, model = fitted
    scores = model.decision_function(data.X_new[:3], data.S_new)
    Z = simplex_mixtures(data.S_new, model.B_, model.lam_s)
    for i in range(3):
        written = [
            -minimize(
                jlse_pair_objective, np.zeros(8), (data.X_new[i], z, model.D_, model.W_, model.precision, model.lam_v)
            ).fun
            for z in Z
        ]
        np.testing.assert_allclose(scores[i] - scores[i].mean(), written - np.mean(written), atol=1e-4)


def test_codes_with_the_answer_lower_the_joint_objective(fitted):
    data, model = fitted
    signs = np.where(np.arange(10) == data.y[:, None], 1.0, -1.0)
    weights = np.where(signs > 0, 0.5, 0.5 / 9)
    Z = simplex_mixtures(data.S, model.B_, model.lam_s)

    def joint(V):
        restored = ((data.X - V @ model.D_) ** 2).sum() + model.lam_v * (V**2).sum()
        return model.precision / 2 * restored + (weights * np.logaddexp(0, -signs * (V @ model.W_.T @ Z.T))).sum()

    V = model._image_codes(data.X)
    values = [joint(model._matched_image_codes(data.X, Z, V, signs, weights, n_steps)) for n_steps in range(6)]
    assert values[0] == joint(V)
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < values[0]


def test_match_weights_are_stationary():
    data = make_synthetic(n_seen=5, per_class=4, d=6)
    signs = np.where(np.arange(5) == data.y[:, None], 1.0, -1.0)
    weights = np.where(signs > 0, 0.5, 0.5 / 4)
    W = match_weights(np.zeros((5, 6)), np.eye(5), data.X, signs, weights, 0.1)
    slope = weights * signs / (1 + np.exp(signs * (data.X @ W.T)))
    np.testing.assert_allclose(slope.T @ data.X / len(data.X), 0.1 * W, atol=1e-3 * np.abs(W).max())


def test_dictionary_stays_in_the_unit_ball(fitted):
    _, model = fitted
    assert np.linalg.norm(model.D_, axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_atoms": 0}, "at least 1"),
        ({"n_rounds": 0}, "at least 1"),
        ({"lam_w": 0.0}, "must be positive"),
        ({"lam_s": -1.0}, "must be positive"),
        ({"lam_v": 0.0}, "must be positive"),
        ({"precision": 0.0}, "must be positive"),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        make_method("jlse", **bad).fit(*make_synthetic()[:3])
