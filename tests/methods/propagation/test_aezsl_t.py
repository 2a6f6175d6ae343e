import numpy as np
import pytest

from aezsl.data.draws import Cell, all_kinds_of_pools, draw_pools, long_tail
from aezsl.errors import AezslError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.methods.core.transductive import reason_to_refrain
from aezsl.methods.propagation.neighbours import neighbour_graph
from aezsl.selection import SelectionSettings, class_folds, cross_validate, select
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


def test_where_seen_classes_are_targets_a_small_pool_is_left_alone_and_the_history_says_so(model, base, data):
    few, targets = data.X_new[:: len(data.X_new) // 7], np.vstack([data.S_new, data.S])
    classifier = model.adapt(targets, few)
    np.testing.assert_array_equal(classifier.predict(few), base.predict(few, targets))
    assert "fewer than 2 per class" in classifier.rounds.note
    assert classifier.history.empty
    assert model.restore(classifier.state()).rounds.note == classifier.rounds.note


def test_small_pools_gain():
    """Two images of each of eight classes."""
    gains = []
    for seed in range(2, 6):
        data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=seed)
        base, model = (make_method(name, **LAMBDAS).fit(*data[:3]) for name in ("aezsl", "aezsl_t"))
        alone = base.predict(data.X_new, data.S_new)
        for draw in range(10):
            rows = draw_pools(Cell("all", "16"), data.y_new, draw, 0, 1)[0]
            y = data.y_new[rows]
            gains.append(np.mean(model.predict(data.X_new[rows], data.S_new) == y) - np.mean(alone[rows] == y))
    assert np.mean(gains) > 0.02


def test_of_one_image_every_class_has_a_score(model, data):
    scores = model.adapt(data.S_new, data.X_new[:1]).scores(data.X_new[:1])
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0


def test_a_graph_that_says_nothing_is_left_alone():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 24))
    graph = neighbour_graph(noise / np.linalg.norm(noise, axis=1, keepdims=True), 10)
    assert "neighbours agree" in reason_to_refrain(rng.integers(8, size=400), graph, 8)
    assert reason_to_refrain((noise[:, 0] > 0).astype(int), graph, 2) is None


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


def test_validation_pools_are_of_all_kinds(data, monkeypatch):
    asked, cls = [], type(make_method("aezsl_t"))
    original = cls._improve
    monkeypatch.setattr(cls, "_improve", lambda self, start, t: asked.append(len(t.pool)) or original(self, start, t))
    folds = class_folds(30, 8, n_folds=1)
    cross_validate(make_method("aezsl_t", **LAMBDAS), *data[:3], folds, {"balance": [0.5, 0.7]})
    y = data.y[np.isin(data.y, folds[0])]
    assert sorted(asked) == sorted(2 * [len(pool) for pool in all_kinds_of_pools(y)])


def test_kinds_of_pools_are_full_long_tailed_of_few_classes_and_small():
    y = np.repeat(np.arange(8), 30)
    pools = all_kinds_of_pools(y)
    sizes = [(len(pool), len(np.unique(y[pool]))) for pool in pools]
    assert sizes[0] == (240, 8)
    assert sizes[1][0] < 120
    assert sizes[1][1] == 8
    assert {(120, 4), (200, 8), (64, 8), (64, 4)} <= set(sizes)
    assert len(pools) == 7
    assert len(all_kinds_of_pools(y[::30])) < 7


def test_shares_of_another_number_of_classes_are_refused(data):
    model = make_method("aezsl_t", totals=[0.5, 0.5]).fit(*data[:3])
    with pytest.raises(AezslError, match="totals"):
        model.adapt(data.S_new, data.X_new)


def test_of_a_stream_a_batch_knows_where_classes_lay_before():
    """Batches of eight images: answered one after another, and each by itself."""
    gains = []
    for seed in (2, 3):
        own = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=seed)
        fitted, rows = (
            make_method("aezsl_t", **LAMBDAS).fit(*own[:3]),
            draw_pools(Cell("0.5", "8", True), own.y_new, 0, 0, 40),
        )
        before = fitted.adapt(own.S_new, own.X_new[rows[0]])
        for batch in rows[1:]:
            X, y = own.X_new[batch], own.y_new[batch]
            before = before.next(X)
            gains.append(np.mean(before.predict(X) == y) - np.mean(fitted.adapt(own.S_new, X).predict(X) == y))
    assert np.mean(gains) > 0


def test_what_is_carried_along_is_a_vector_per_class_and_survives_saving(model, data):
    first = model.adapt(data.S_new, data.X_new[:60])
    second = first.next(data.X_new[60:120])
    assert first.sums.shape == second.sums.shape == (len(data.S_new), data.X_new.shape[1])
    again = model.restore(first.state()).next(data.X_new[60:120])
    np.testing.assert_array_equal(again.labels, second.labels)
    np.testing.assert_allclose(again.sums, second.sums, atol=1e-5)


def test_nothing_carried_is_a_pool_of_its_own(data):
    model = make_method("aezsl_t", **LAMBDAS, carried_images=0).fit(*data[:3])
    first = model.adapt(data.S_new, data.X_new[:60])
    X = data.X_new[60:120]
    np.testing.assert_array_equal(first.next(X).labels, model.adapt(data.S_new, X).labels)


class TestChosenStart:
    own = {"gamma": 0.1, "lam": 0.1}

    def test_it_may_start_from_eszsl(self, data):
        model = make_method("aezsl_t", start="eszsl", eszsl_gamma=0.1, eszsl_lam=0.1).fit(*data[:3])
        other = make_method("eszsl_t", **self.own).fit(*data[:3])
        found, expected = (one.adapt(data.S_new, data.X_new) for one in (model, other))
        np.testing.assert_array_equal(found.labels, expected.labels)
        again = make_method("aezsl_t", **model.get_params()).set_state(model.get_state())
        np.testing.assert_array_equal(again.adapt(data.S_new, data.X_new).labels, found.labels)
        assert model.starts_from(make_method("eszsl", **self.own))
        assert not model.starts_from(make_method("aezsl"))

    def test_what_is_chosen_for_eszsl_alone_goes_along(self, data):
        settings = SelectionSettings(n_folds=1, search="exhaustive")
        alone = select("eszsl", *data[:3], settings)
        chosen = select("aezsl_t", *data[:3], settings, lambda1=0.1, lambda2=0.1, lambda3=0.1)
        assert (chosen.eszsl_gamma, chosen.eszsl_lam) == (alone.gamma, alone.lam)
        assert chosen.start in ("aezsl", "eszsl")


class TestESZSLT(MethodContract):
    method = "eszsl_t"
    params = {"gamma": 0.1, "lam": 0.1}

    def test_starts_from_eszsl(self, fitted, data):
        base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
        classifier = fitted.adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(classifier.rounds.start, base.predict(data.X_new, data.S_new))
