import numpy as np
import pytest

from aezsl.methods.shared.margin import Labelling, smooth_hinge, train
from tests.helpers.pools import check_degenerate_pools, fitter
from tests.methods.core.contract import MethodContract
from tests.oracles.assignment import best_total
from tests.synthetic import make_synthetic

DOUBLE = {"single": False}


class TestMaxMargin(MethodContract):
    method = "max_margin"
    params = {"max_rounds": 2, **DOUBLE}
    floor = 0.8


fitted = fitter("max_margin", **DOUBLE)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(noise=1.0)


@pytest.mark.parametrize("params", [{}, {"beta": 0.1}, {"start": "random"}, {"centre": False, "lower": 0.0}])
def test_the_objective_never_rises(data, params):
    history = fitted(data, **params).adapt(data.S_new, data.X_new).history
    assert len(history) > 1
    assert (np.diff(history["objective"]) < 0).all()
    assert set(history["step"]) <= {1.0, 0.5, 0.25, 0.125}


@pytest.mark.parametrize("a", [10, 60])  # fewer and more dimensions than classes
def test_it_ends_with_the_machine_of_its_labels(a):
    """After one round Y is the balanced assignment itself: a machine trained on it, by hand, scores the same."""
    data = make_synthetic(noise=1.0, a=a)
    classifier = fitted(data, max_rounds=1, n_components=None).adapt(data.S_new, data.X_new)
    U = np.vstack([data.S, data.S_new]) - data.S.mean(axis=0)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    mean = data.X.mean(axis=0)
    y = np.concatenate([data.y, classifier.rounds.start + len(data.S)])
    F = np.vstack([data.X, data.X_new]) - mean
    machine = train(F, U, Labelling(y, np.empty((0, len(U)))), 1.0, np.zeros((a, 24)), tol=1e-12)
    expected = (data.X_new - mean) @ machine.W.T @ U[len(data.S) :].T
    found = classifier.scores(data.X_new)
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
    assert classifier.history["objective"].iloc[0] == pytest.approx(machine.value, rel=1e-3)
    np.testing.assert_array_equal(classifier.labels, found.argmax(axis=1))


def test_labels_keep_their_bounds_and_equal_bounds_give_equal_sizes(data):
    for lower, upper, sizes in ((1.0, 1.0, {12}), (0.5, 2.0, set(range(6, 25)))):
        classifier = fitted(data, lower=lower, upper=upper, rounded=True, max_rounds=1).adapt(data.S_new, data.X_new)
        assert set(np.bincount(classifier.rounds.start, minlength=8)) <= sizes
        np.testing.assert_array_equal(classifier.rounds.start, classifier.labels)  # Y is one-hot in the first round


def test_random_first_labels_have_their_seed(data):
    starts = [
        fitted(data, start="random", seed=seed, max_rounds=1).adapt(data.S_new, data.X_new).rounds.start
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert (starts[0] != starts[2]).any()


@pytest.mark.parametrize("length", [1.0, 0.25])
def test_a_step_goes_towards_the_best_assignment_along_the_derivative(data, monkeypatch, length):
    """Of all labels within the bounds, mixed ones too, none falls faster along the paper's derivative G."""
    monkeypatch.setattr("aezsl.methods.max_margin.LENGTHS", (length,))
    model = fitted(data, beta=0.1, start="random")
    scene = model._scene(data.S_new, data.X_new)
    Y = model._one_hot(scene.assign(model._first_scores(scene)), scene)
    machine = model._train(scene, Y, scene.W)
    _, mixed, taken = model._step(scene, machine, Y)
    goal = ((mixed - (1 - length) * Y) / length)[:, scene.columns]
    assert taken == length
    assert set(np.unique(np.round(goal, 12))) == {0.0, 1.0}
    np.testing.assert_allclose(mixed.sum(axis=1), 1)
    assert (goal.sum(axis=0) >= scene.low - 1e-9).all()
    assert (goal.sum(axis=0) <= scene.high + 1e-9).all()
    scores = scene.F[scene.n :] @ machine.W.T @ scene.U.T
    _, M = smooth_hinge(scores, Labelling(data.y[:0], Y))
    rise = (M + scores)[:, scene.columns]  # -G
    assert np.vdot(rise, goal) == pytest.approx(best_total(rise, scene.low, scene.high), rel=1e-9)


def test_without_lower_bounds_one_class_may_take_all():
    """Samples that say nothing: all of one class is the cheapest answer, which the bounds forbid."""
    data = make_synthetic(n_seen=6, n_unseen=3, noise=1.0)
    scene = fitted(data)._scene(data.S_new, data.X_new * 0)
    model = fitted(data, lower=0.0, upper=3.0)
    one_class, even = (
        model._train(scene, model._one_hot(labels, scene), scene.W).value
        for labels in (np.zeros(36, dtype=int), np.arange(36) % 3)
    )
    assert one_class < even
    assert (scene.low == 6).all()
    assert (model._scene(data.S_new, data.X_new).low == 0).all()


def test_single_precision_answers_alike(data):
    single, double = (fitted(data, single=single).adapt(data.S_new, data.X_new) for single in (True, False))
    assert np.mean(single.labels == double.labels) > 0.95


def test_without_a_pool_it_is_the_machine_of_the_seen_classes(data):
    model = fitted(data, centre=False, n_components=None)
    classifier = model.adapt(data.S_new)
    assert len(classifier.history) == 0
    U = data.S / np.linalg.norm(data.S, axis=1, keepdims=True)
    mean = data.X.mean(axis=0)
    W = train(data.X - mean, U, Labelling(data.y, np.empty((0, 30))), 1.0, np.zeros((10, 24)), tol=1e-12).W
    expected = (data.X_new - mean) @ W.T @ data.S_new.T / np.linalg.norm(data.S_new, axis=1)
    found = classifier.scores(data.X_new)
    # Class vectors that are not centred have much in common; along that, which decides nothing, the objective is flat.
    found, expected = (scores - scores.mean(axis=1, keepdims=True) for scores in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())


def test_seen_targets_are_the_classes_that_have_samples(data):
    """In the generalized setting seen classes stand in the machine once, with their samples."""
    model = fitted(make_synthetic())
    both = np.vstack([data.S_new, data.S])
    scene = model._scene(both, data.X_new)
    np.testing.assert_array_equal(scene.columns, np.concatenate([np.arange(30, 38), np.arange(30)]))
    assert (scene.low[:8] == 6).all()
    assert (scene.high[8:] == 12).all()  # 24, of which it has 12
    pool = np.vstack([make_synthetic().X[::6], make_synthetic().X_new])
    true = np.concatenate([data.y[::6] + 8, data.y_new])
    assert np.mean(model.adapt(both, pool).labels == true) > 0.6


@pytest.mark.filterwarnings("ignore:MaxMargin. labels collapsed")  # equal samples cannot be of many classes
def test_few_samples_duplicates_and_ties_are_defined(data):
    model = fitted(data, max_rounds=2)
    check_degenerate_pools(model, data)
    twice = model.adapt(np.vstack([data.S_new, data.S_new]), data.X_new)
    assert len(twice.labels) == len(data.X_new)


def test_a_class_without_samples_may_stay_empty():
    sharp = make_synthetic(noise=0.1)
    pool, true = sharp.X_new[sharp.y_new < 4], sharp.y_new[sharp.y_new < 4]
    classifier = fitted(sharp, lower=0.0).adapt(sharp.S_new, pool)
    assert np.mean(classifier.labels == true) > 0.9


def test_a_collapse_is_told(data):
    with pytest.warns(UserWarning, match=r"MaxMargin.*\blower\b"):
        fitted(data, max_rounds=1).adapt(data.S_new, np.repeat(data.X_new[:1], 16, axis=0))
