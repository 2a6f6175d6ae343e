import numpy as np

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestSJE(MethodContract):
    method = "sje"
    params = {"learning_rate": 0.1, "n_epochs": 30, "batch_size": 16}
    floor = 0.6


def test_one_step_pushes_the_worst_class_down_and_the_true_one_up():
    """One batch of all samples from the (almost) zero start: W = W0 + rate * mean x (s_y - s_worst)'."""
    data = make_synthetic(n_seen=6, per_class=4)
    n = len(data.X)
    tiny_step, step = (
        make_method("sje", learning_rate=rate, n_epochs=1, batch_size=n).fit(*data[:3]).W_ for rate in (1e-12, 0.5)
    )
    scores = data.X @ tiny_step @ data.S.T
    scores += 1.0 - np.eye(6)[data.y]
    worst = scores.argmax(axis=1)
    expected = tiny_step + 0.5 * data.X.T @ (data.S[data.y] - data.S[worst]) / n
    np.testing.assert_allclose(step, expected, atol=1e-5)


def test_seed_decides():
    data = make_synthetic()
    a, b, c = (make_method("sje", learning_rate=0.1, n_epochs=1, random_state=s).fit(*data[:3]).W_ for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-3
