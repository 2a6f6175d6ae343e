import numpy as np

from aezsl.methods import make_method
from aezsl.methods.shared.ranking_sgd import ranking_loss
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestDeViSE(MethodContract):
    method = "devise"
    params = {"learning_rate": 0.005, "n_epochs": 30, "batch_size": 16}
    floor = 0.6


def test_first_step_follows_finite_differences_of_the_written_loss():
    """The first full-batch step, entry by entry, against differences of the loss as the docstring writes it."""
    data = make_synthetic(n_seen=5, per_class=3, d=6, a=4)
    rate, margin = 1e-2, 0.1
    fit = {"n_epochs": 1, "batch_size": len(data.X), "margin": margin}
    start = make_method("devise", learning_rate=1e-12, **fit).fit(*data[:3]).M_
    moved = make_method("devise", learning_rate=rate, **fit).fit(*data[:3]).M_
    T = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)

    def loss(M):
        terms = margin - np.sum(T[data.y] * (data.X @ M.T), axis=1)[:, None] + data.X @ M.T @ T.T
        terms[np.arange(len(data.X)), data.y] = 0
        return np.maximum(terms, 0).sum() / len(data.X)

    gradient = np.empty_like(start)
    for at in np.ndindex(start.shape):
        step = np.zeros_like(start)
        step[at] = 1e-6
        gradient[at] = (loss(start + step) - loss(start - step)) / 2e-6
    np.testing.assert_allclose((start - moved) / rate, gradient, atol=2e-4 * np.abs(gradient).max())


def test_only_the_direction_of_class_vectors_counts():
    data = make_synthetic()
    lengths = np.random.default_rng(0).uniform(0.5, 3, (30, 1))
    plain = make_method("devise", learning_rate=0.005).fit(*data[:3])
    scaled = make_method("devise", learning_rate=0.005).fit(data.X, data.y, data.S * lengths)
    np.testing.assert_allclose(
        scaled.decision_function(data.X_new, data.S_new * 7), plain.decision_function(data.X_new, data.S_new), rtol=1e-4
    )


def test_first_violator_learns_too():
    data = make_synthetic()
    T = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)
    losses = []
    for n_epochs in (1, 20):
        model = make_method("devise", violator="first", learning_rate=0.05, n_epochs=n_epochs).fit(*data[:3])
        losses.append(ranking_loss(model.M_.T[None], data.X, data.y, T, 0.1, "all", np.random.default_rng(0))[0])
    assert losses[1] < losses[0]
