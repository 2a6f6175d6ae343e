import numpy as np
import pytest

from aezsl.errors import AezslError
from aezsl.methods import make_method
from aezsl.methods.secml import _adam, consistency_loss
from tests.helpers.derivatives import central_differences
from tests.methods.core.contract import MethodContract
from tests.oracles.secml import secml_objective
from tests.synthetic import make_synthetic


class TestSECML(MethodContract):
    method = "secml"
    params = {"lam": 1.0, "mu": 1e-4, "n_epochs": 30, "batch_size": 32, "learning_rate": 0.02}


def random_problem():
    data = make_synthetic(n_seen=6, per_class=4, d=7, a=5)
    rng = np.random.default_rng(0)
    theta = {
        "W_X": rng.normal(size=(7, 5)) * 0.3,
        "b_X": rng.normal(size=5) * 0.3,
        "W_A": rng.normal(size=(5, 3)),
        "tau": np.array(1.3),
    }
    negative = (data.y + rng.integers(1, 6, len(data.y))) % 6
    return theta, data, negative


def test_loss_equals_the_sum_over_pairs():
    theta, data, negative = random_problem()
    value, _ = consistency_loss(theta, data.X, data.y, negative, data.S, 0.7, 0.01)
    np.testing.assert_allclose(value, secml_objective(theta, data.X, data.y, negative, data.S, 0.7, 0.01))


@pytest.mark.parametrize("name", ["W_X", "b_X", "W_A", "tau"])
def test_gradient_equals_finite_differences(name):
    theta, data, negative = random_problem()
    _, gradient = consistency_loss(theta, data.X, data.y, negative, data.S, 0.7, 0.01)

    def loss(value):
        return consistency_loss({**theta, name: value}, data.X, data.y, negative, data.S, 0.7, 0.01)[0]

    np.testing.assert_allclose(gradient[name], central_differences(loss, theta[name], 1e-6), atol=1e-6, rtol=1e-5)


def test_score_is_the_distance_under_the_metric():
    data = make_synthetic()
    model = make_method("secml", n_components=4, n_epochs=2).fit(*data[:3])
    assert model.W_A_.shape == (10, 4)
    x, s = data.X_new[5], (data.S_new[2] - model.shift_) / model.unit_
    difference = np.maximum(x @ model.W_X_ + model.b_X_, 0) - s
    expected = -difference @ model.W_A_ @ model.W_A_.T @ difference
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new)[5, 2], expected)


def test_shifting_all_class_vectors_changes_nothing():
    """The rectifier is placed relative to the seen classes, so signed semantics work as attributes do."""
    data = make_synthetic()
    model = make_method("secml", n_epochs=3)
    plain = model.fit(*data[:3]).decision_function(data.X_new, data.S_new)
    shifted = model.fit(data.X, data.y, data.S - 3.0).decision_function(data.X_new, data.S_new - 3.0)
    np.testing.assert_allclose(shifted, plain, rtol=5e-2, atol=1e-2 * np.abs(plain).max())


@pytest.mark.parametrize(("n_components", "rank"), [(None, 10), (3, 3), (0.25, 2), (1.0, 10), (1.2, 12), (1e-3, 1)])
def test_the_rank_is_a_number_or_a_share_of_the_semantic_dimensions(n_components, rank):
    model = make_method("secml", n_components=n_components, n_epochs=1).fit(*make_synthetic()[:3])
    assert model.W_A_.shape == (10, rank)


def test_the_metric_starts_as_the_euclidean_one_of_the_principal_directions():
    data = make_synthetic()
    T = data.S.astype(np.float32)
    directions = np.linalg.svd(data.S - data.S.mean(axis=0))[2].T
    for rank in (4, 10):
        W_A = make_method("secml")._start(24, T, rank, np.random.default_rng(0))["W_A"]
        np.testing.assert_allclose(W_A @ W_A.T, directions[:, :rank] @ directions[:, :rank].T, atol=1e-4)


def test_b_X_starts_at_the_mean_attributes():
    T = make_synthetic().S.astype(np.float32)
    np.testing.assert_allclose(
        make_method("secml")._start(24, T, 4, np.random.default_rng(0))["b_X"], T.mean(axis=0), atol=1e-6
    )


def test_inconsistent_classes_are_drawn_from_all_others_or_the_nearest_of_them():
    theta, data, _ = random_problem()
    rows = np.repeat(np.arange(len(data.X)), 200)
    X, y = data.X[rows], data.y[rows]
    drawn = make_method("secml")._negatives(theta, X, y, data.S, np.random.default_rng(0))
    for c in range(6):
        shares = np.bincount(drawn[y == c], minlength=6) / np.count_nonzero(y == c)
        assert shares[c] == 0
        np.testing.assert_allclose(np.delete(shares, c), 1 / 5, atol=0.06)
    hard = make_method("secml", negatives="hard")._negatives(theta, data.X, data.y, data.S, np.random.default_rng(0))
    embedded = np.maximum(data.X @ theta["W_X"] + theta["b_X"], 0)
    for a, own, found in zip(embedded, data.y, hard, strict=True):
        distances = [np.inf if c == own else np.sum(((a - s) @ theta["W_A"]) ** 2) for c, s in enumerate(data.S)]
        assert found == np.argmin(distances)


def test_every_pass_meets_every_image_once_in_an_order_of_its_own(monkeypatch):
    """And the step size falls linearly to zero."""
    data, met, rates = make_synthetic(n_seen=6, per_class=8), [], []

    def loss(theta, X, *args):
        met.extend(X[:, 0].tolist())
        return consistency_loss(theta, X, *args)

    def adam(theta, gradient, moments, step, rate):
        assert step == len(rates) + 1
        rates.append(rate)

    monkeypatch.setattr("aezsl.methods.secml.consistency_loss", loss)
    monkeypatch.setattr("aezsl.methods.secml._adam", adam)
    make_method("secml", n_epochs=3, batch_size=16, learning_rate=0.5).fit(*data[:3])
    passes = [met[i : i + 48] for i in (0, 48, 96)]
    for images in passes:
        assert sorted(images) == sorted(data.X[:, 0].astype(np.float32).tolist())
    assert passes[0] != passes[1] != passes[2]
    np.testing.assert_allclose(rates, 0.5 * (1 - np.arange(9) / 9))


def test_adam_moves_by_the_step_size_where_gradients_stay():
    """Both means are corrected for their start at zero, so their ratio is the sign from the first step on."""
    theta, gradient = {"W": np.zeros(3)}, {"W": np.array([2.0, -0.1, 30.0])}
    moments = {"W": (np.zeros(3), np.zeros(3))}
    for step in range(1, 6):
        _adam(theta, gradient, moments, step, 0.1)
        np.testing.assert_allclose(theta["W"], -0.1 * step * np.sign(gradient["W"]), rtol=1e-4)


@pytest.mark.parametrize("negatives", ["hard", "random"])
def test_training_separates_consistent_from_inconsistent_pairs(negatives):
    data = make_synthetic(n_seen=10)
    model = make_method("secml", negatives=negatives, n_epochs=30, batch_size=32).fit(*data[:3])
    distance = -model.decision_function(data.X, data.S)
    own = distance[np.arange(len(data.y)), data.y]
    assert np.median(own) < model.tau_ < np.median(distance)


def test_a_metric_of_too_high_a_rank_is_refused():
    with pytest.raises(AezslError, match="n_components"):
        make_method("secml", n_components=13).fit(*make_synthetic()[:3])
