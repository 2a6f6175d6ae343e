import numpy as np
import pytest

from aezsl.data.draws import long_tail
from aezsl.errors import AezslError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.methods.propagation.neighbours import neighbour_graph
from aezsl.methods.propagation.stage import BalancedPropagation
from aezsl.selection import class_folds, cross_validate
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

LAMBDAS = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1}


class TestAEZSLT(MethodContract):
    method = "aezsl_t"
    params = LAMBDAS


@pytest.fixture(scope="module")
def data():
    return make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)


@pytest.fixture(scope="module")
def base(data):
    return make_method("aezsl", **LAMBDAS).fit(*data[:3])


@pytest.fixture(scope="module")
def model(data):
    return make_method("aezsl_t", **LAMBDAS).fit(*data[:3])


@pytest.mark.parametrize("tail", [False, True])
def test_gains_on_balanced_and_on_long_tailed_pools(tail):
    gains = []
    for seed in (2, 3, 4):
        data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=seed)
        rows = long_tail(data.y_new) if tail else np.arange(len(data.y_new))
        y, X = data.y_new[rows], data.X_new[rows]
        before, after = (
            per_class_accuracy(y, make_method(name, **LAMBDAS).fit(*data[:3]).predict(X, data.S_new))
            for name in ("aezsl", "aezsl_t")
        )
        gains.append(after - before)
    assert np.mean(gains) > 0.05


def test_the_objective_never_rises(model, data):
    J = model.adapt(data.S_new, data.X_new).history["objective"]
    assert (np.diff(J) <= 1e-9 * abs(J.iloc[0])).all()
    assert J.iloc[-1] < J.iloc[0]


def test_a_pool_that_is_too_small_is_left_alone_and_the_history_says_so(model, base, data):
    few = data.X_new[:: len(data.X_new) // 7]
    classifier = model.adapt(data.S_new, few)
    np.testing.assert_array_equal(classifier.predict(few), base.predict(few, data.S_new))
    assert "fewer than 2 per class" in classifier.rounds.note
    assert classifier.history.empty
    assert model.restore(classifier.state()).rounds.note == classifier.rounds.note


def test_a_graph_that_says_nothing_is_left_alone():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 24))
    graph = neighbour_graph(noise / np.linalg.norm(noise, axis=1, keepdims=True), 10)
    stage = BalancedPropagation()
    assert "neighbours agree" in stage.reason_to_refrain(rng.integers(8, size=400), graph, 8)
    assert stage.reason_to_refrain((noise[:, 0] > 0).astype(int), graph, 2) is None


def test_samples_from_outside_gain_too(model, base, data):
    classifier = model.adapt(data.S_new, data.X_new[::2])
    outside, y = data.X_new[1::2], data.y_new[1::2]
    assert np.mean(classifier.predict(outside) == y) > np.mean(base.predict(outside, data.S_new) == y)
    np.testing.assert_array_equal(classifier.predict(outside), classifier.scores(outside).argmax(axis=1))


def test_shares_that_are_known_help_more_than_estimated_ones_and_those_more_than_none(data):
    rows = long_tail(data.y_new)
    y, X = data.y_new[rows], data.X_new[rows]
    shares = (np.bincount(y) / len(y)).tolist()
    uniform, estimated, given = (
        np.mean(make_method("aezsl_t", **LAMBDAS, totals=t, balance=0.9).fit(*data[:3]).predict(X, data.S_new) == y)
        for t in ("uniform", "estimated", shares)
    )
    assert given >= estimated >= uniform


def test_where_few_classes_are_present_shares_that_are_found_help():
    """Two classes of eight: beside the base, and beside shares that are taken to be alike."""
    gains = []
    for seed in (2, 3, 4):
        data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=seed)
        rows = np.flatnonzero(data.y_new < 2)
        y, X = data.y_new[rows], data.X_new[rows]
        base, found, alike = (
            np.mean(make_method(name, **LAMBDAS, **more).fit(*data[:3]).predict(X, data.S_new) == y)
            for name, more in (("aezsl", {}), ("aezsl_t", {}), ("aezsl_t", {"totals": "uniform"}))
        )
        gains.append((found - base, found - alike))
    assert (np.mean(gains, axis=0) > 0.04).all()


def test_seen_targets_lie_where_their_images_are(model, data):
    prototypes, kappa, is_seen = model._prototypes(np.vstack([data.S_new, data.S[:3]]))
    C = len(data.S_new)
    np.testing.assert_array_equal(is_seen, np.arange(C + 3) >= C)
    means = np.array([data.X[data.y == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(prototypes[C:], model._in_metric(means), atol=1e-6)
    np.testing.assert_array_equal(kappa[C:], np.minimum(np.bincount(data.y)[:3], model.seen_images))
    np.testing.assert_array_equal(kappa[:C], model.prototype_images)


def test_validation_pools_are_drawn_both_ways(data, monkeypatch):
    asked, cls = [], type(make_method("aezsl_t"))
    original = cls._improve
    monkeypatch.setattr(cls, "_improve", lambda self, start, t: asked.append(len(t.pool)) or original(self, start, t))
    folds = class_folds(30, 8, n_folds=1)
    cross_validate(make_method("aezsl_t", **LAMBDAS), *data[:3], folds, {"balance": [0.5, 0.7]})
    assert len(asked) == 4
    assert len(set(asked)) == 2
    assert max(asked) > 2 * min(asked)


def test_shares_of_another_number_of_classes_are_refused(data):
    model = make_method("aezsl_t", totals=[0.5, 0.5]).fit(*data[:3])
    with pytest.raises(AezslError, match="totals"):
        model.adapt(data.S_new, data.X_new)


class TestESZSLT(MethodContract):
    method = "eszsl_t"
    params = {"gamma": 0.1, "lam": 0.1}

    def test_starts_from_eszsl(self, fitted, data):
        base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
        classifier = fitted.adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(classifier.rounds.start, base.predict(data.X_new, data.S_new))
