import numpy as np
import pytest

from aezsl.methods import jlse, make_method
from aezsl.methods.core.seen import SeenData
from aezsl.methods.jlse import JLSE, Pairs, match_weights
from aezsl.methods.shared import margin
from aezsl.methods.shared.simplex import simplex_mixtures
from tests.helpers.derivatives import central_differences
from tests.methods.core.contract import MethodContract
from tests.oracles.jlse import jlse_class_fit, jlse_objective
from tests.synthetic import make_synthetic


class TestJLSE(MethodContract):
    method = "jlse"
    params = {"n_atoms": 20, "lam_w": 1e-4, "lam_s": 0.01}


@pytest.fixture(scope="module")
def fitted():
    data = make_synthetic(n_seen=10, per_class=6)
    return data, make_method("jlse", n_atoms=8, lam_w=1e-3, precision=2.0).fit(*data[:3])


def signs_of(y, n_classes):
    return np.where(np.arange(n_classes) == y[:, None], 1.0, -1.0)


def test_score_is_the_match_of_the_codes_and_the_class_s_own_fit(fitted):
    data, model = fitted
    Z = simplex_mixtures(data.S_new, model.B_, model.lam_s)
    gram = model.D_ @ model.D_.T + model.lam_v * np.eye(8)
    fit = np.array([jlse_class_fit(s, z, model.B_, model.lam_s) for s, z in zip(data.S_new, Z, strict=True)])
    for class_fit in (0.0, 3.0):
        scores = make_method("jlse", **{**model.get_params(), "class_fit": class_fit}).fit(*data[:3])
        for i in range(3):
            v = np.linalg.solve(gram, model.D_ @ data.X_new[i])
            expected = Z @ model.W_ @ v + class_fit * fit
            np.testing.assert_allclose(scores.decision_function(data.X_new, data.S_new)[i], expected, atol=1e-4)


def test_the_loss_is_the_hinge_of_all_pairs_and_its_derivative_that_of_differences():
    rng = np.random.default_rng(0)
    y, t = rng.integers(0, 5, 7), 3 * rng.normal(size=(7, 5))
    exact = np.maximum(1 - signs_of(y, 5) * t, 0).mean(axis=1).sum()
    value, slope = Pairs(y, 5).loss(t)
    assert exact <= value <= exact + 7 * 0.05 * np.log(2)
    assert Pairs(y, 5, tau=1e-4).loss(t)[0] == pytest.approx(exact, rel=1e-3)
    for _ in range(3):
        way = rng.normal(size=t.shape)
        change = Pairs(y, 5).loss(t + 1e-6 * way)[0] - Pairs(y, 5).loss(t - 1e-6 * way)[0]
        assert change / 2e-6 == pytest.approx(np.vdot(slope, way), rel=1e-4)
    assert np.abs(slope).max() == pytest.approx(1 / 5)


def test_matches_far_from_the_margin_leave_no_denormal_numbers():
    _, slope = Pairs(np.array([0]), 3).loss(np.array([[90.0, -4.7, -90.0]], dtype=np.float32))
    assert slope.dtype == np.float32
    assert np.abs(slope).min() > np.finfo(np.float32).tiny


def test_codes_with_the_answer_lower_the_joint_objective(fitted):
    data, model = fitted
    signs, pairs = signs_of(data.y, 10), Pairs(data.y, 10)
    Z, V = simplex_mixtures(data.S, model.B_, model.lam_s), model._image_codes(data.X)

    def smooth(V):
        restored = ((data.X - V @ model.D_) ** 2).sum() + model.lam_v * (V**2).sum()
        return model.precision / 2 * restored + pairs.loss(V @ model.W_.T @ Z.T)[0]

    def literal(V):
        return jlse_objective(data.X, signs, Z, V, model.D_, model.W_, model.precision, model.lam_v)

    codes = [model._matched_image_codes(data.X, Z, V, pairs, n_steps) for n_steps in range(6)]
    values = [smooth(codes_after) for codes_after in codes]
    assert values[0] == smooth(V)
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < values[0]
    for codes_after, value in zip(codes, values, strict=True):
        assert 0 <= value - literal(codes_after) <= len(data.X) * 0.05 * np.log(2) + 1e-4


class Watched(JLSE):
    """Keeps what every step of the training leaves: codes of classes Z and images V, dictionaries B and D, and W."""

    def _keep(self, **found):
        before = self.kept[-1] if hasattr(self, "kept") else {}
        self.kept = [*getattr(self, "kept", []), {**before, **found, "B": self.B_, "D": self.D_}]

    def _matched_image_codes(self, X, Z, V, pairs, **options):
        self._keep(Z=Z, V=V, W=self.W_)
        codes = super()._matched_image_codes(X, Z, V, pairs, **options)
        self._keep(V=codes)
        return codes

    def _class_codes(self, S, **extra):
        codes = super()._class_codes(S, **extra)
        if extra:  # behind the step of the dictionary of features
            self._keep()
            self.pull = self.kept[-1], extra["pull"]
            self._keep(Z=codes)
        return codes


def test_no_step_of_the_training_raises_its_objective():
    data = make_synthetic(n_seen=10, per_class=6)
    pairs = Pairs(data.y, 10)
    model = Watched(n_atoms=8, lam_w=1e-3, lam_s=0.1, precision=100.0, n_rounds=3).fit(*data[:3])

    def match(Z, V, W):
        return pairs.loss(V @ (Z @ W).T)[0] / len(data.X)

    def value(Z, V, B, D, W):
        classes = -np.mean([jlse_class_fit(s, z, B, 0.1) for s, z in zip(data.S, Z, strict=True)])
        images = np.sum((data.X - V @ D) ** 2) + model.lam_v * np.sum(V**2)
        return 100 * (classes + images / 2 / len(data.X)) + match(Z, V, W) + 1e-3 / 2 * np.sum(W**2)

    values = [value(**now) for now in model.kept]
    assert len(values) == 4 * 3
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < values[0] - 1
    now, pull = model.pull
    free = np.linalg.lstsq(now["V"], data.X, rcond=None)[0]
    lengths = np.linalg.norm(free, axis=1, keepdims=True)
    np.testing.assert_allclose(now["D"], free / np.maximum(lengths, 1), atol=1e-4)
    slope = central_differences(lambda Z: match(Z, now["V"], now["W"]), now["Z"])
    np.testing.assert_allclose(pull, -slope * len(data.S) / 100, atol=1e-4 * np.abs(pull).max())


def test_the_last_weights_are_fitted_to_codes_without_an_answer(fitted):
    data, model = fitted
    Z, V = model._class_codes(data.S), model._image_codes(data.X)
    slope = Pairs(data.y, 10).loss(V @ (Z @ model.W_).T)[1]
    pushed = -Z.T @ (slope.T @ V) / len(data.X)
    np.testing.assert_allclose(pushed, model.lam_w * model.W_, atol=0.05 * model.lam_w * np.abs(model.W_).max())


def test_match_weights_are_stationary_whatever_the_scale_of_steps(monkeypatch):
    data = make_synthetic(n_seen=5, per_class=4, d=6)
    pairs, Z = Pairs(data.y, 5), np.eye(5)
    for undecided in (0.1, 0.0):
        monkeypatch.setattr(margin, "UNDECIDED", undecided)
        W = match_weights(np.zeros((5, 6)), Z, data.X, pairs, 0.1, tol=1e-9)
        slope = pairs.loss(data.X @ W.T)[1]
        np.testing.assert_allclose(-slope.T @ data.X / len(data.X), 0.1 * W, atol=2e-2 * np.abs(W).max() * 0.1)


def test_weights_of_the_class_s_fit_share_one_training(monkeypatch):
    data = make_synthetic()
    seen, calls = SeenData(*data[:3]), []

    def counted(*args, **kwargs):
        calls.append(1)
        return match_weights(*args, **kwargs)

    monkeypatch.setattr(jlse, "match_weights", counted)
    models = [make_method("jlse", n_atoms=8, class_fit=weight).fit_seen(seen) for weight in (0.0, 1.0, 5.0)]
    assert len(calls) == 3  # two rounds, and the last one
    np.testing.assert_array_equal(models[0].W_, models[2].W_)
    make_method("jlse", n_atoms=8, lam_w=1e-3).fit_seen(seen)
    assert len(calls) == 6


def test_dictionary_stays_in_the_unit_ball(fitted):
    _, model = fitted
    assert np.linalg.norm(model.D_, axis=1).max() <= 1 + 1e-12
