import numpy as np

from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.aezsl import cosines
from tests.synthetic import make_synthetic


class TestAdaptiveDeViSE(MethodContract):
    method = "adaptive_devise"
    params = {"learning_rate": 0.1, "n_epochs": 10, "batch_size": 16}


def test_own_passes_follow_the_order_of_the_plain_method_for_either_violator():
    data = make_synthetic(n_seen=8, per_class=6)
    for violator in ("all", "first"):
        plain, own = (
            make_method(name, violator=violator, n_epochs=4, batch_size=16, **more).fit(*data[:3])
            for name, more in (("devise", {}), ("adaptive_devise", {"weighting": "none", "n_own_epochs": 2}))
        )
        np.testing.assert_allclose(own.classifiers(data.S_new), plain.classifiers(data.S_new), rtol=1e-9, atol=1e-12)


class TestAdaptiveSJE(MethodContract):
    method = "adaptive_sje"
    params = {"learning_rate": 0.1, "n_epochs": 20, "batch_size": 16, "n_own_epochs": 2}
    floor = 0.6


def test_one_own_step_counts_samples_by_their_class():
    """One batch of all samples from the (almost) zero start: W = W0 + rate * mean w_y x (s_y - s_worst)'."""
    data = make_synthetic(n_seen=6, n_unseen=2, per_class=4)
    n = len(data.X)
    start = make_method("sje", learning_rate=1e-12, n_epochs=1, batch_size=n).fit(*data[:3]).W_
    P = make_method("adaptive_sje", learning_rate=0.5, n_epochs=1, batch_size=n).fit(*data[:3]).classifiers(data.S_new)
    worst = (data.X @ start @ data.S.T + 1.0 - np.eye(6)[data.y]).argmax(axis=1)
    for s, a, p in zip(cosines(data.S_new, data.S), data.S_new, P.T, strict=True):
        w = s[data.y] ** 2
        pushed = (w / w.mean())[:, None] * (data.S[data.y] - data.S[worst])
        np.testing.assert_allclose(p, (start + 0.5 * data.X.T @ pushed / n) @ a, atol=1e-5)
