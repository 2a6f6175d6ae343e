import warnings
from typing import get_args

import numpy as np
import pytest

from aezsl.kinds import check_value
from aezsl.methods import METHODS, LinearClassifier, make_method, method_class
from aezsl.methods.core.classifiers import TargetClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.parameters import kind_of
from aezsl.methods.core.seen import Targets
from aezsl.methods.core.transductive import TransductiveMethod
from tests.helpers.quick import slow_unless_quick
from tests.synthetic import make_synthetic

#: Methods with a pool, and those of them that learn its labels without a base to refine.
WITH_POOL = [entry.name for entry in METHODS.values() if entry.pool and not entry.paired]
WITHOUT_BASE = [name for name in WITH_POOL if issubclass(method_class(name), TransductiveMethod)]


class Fixed(TransductiveMethod):
    """Ends with the labels it was told."""

    against_collapse = "try another method"

    def __init__(self, start=(), end=()):
        self.start = start
        self.end = end

    def _fit(self, seen):
        pass

    def _learn(self, S_target, pool, targets):
        history = LabelHistory(np.resize(self.start, len(pool)).astype(int))
        if len(pool):
            history.record(np.resize(self.end, len(pool)))
        return LinearClassifier(self, targets.S, np.eye(pool.shape[1], len(S_target))), history


def adapt(start, end, n=96):
    data = make_synthetic()
    return Fixed(start, end).fit(*data[:3]).adapt(data.S_new, data.X_new[:n])


@pytest.mark.parametrize("before", [4, 5, 8])  # half of the classes, and more
def test_a_collapse_is_told_and_what_helps(before):
    with pytest.warns(UserWarning, match=rf"Fixed.*\b3\b.*\b{before}\b.*{Fixed.against_collapse}"):
        adapt(range(before), range(3))


@pytest.mark.parametrize(
    ("start", "end", "n"),
    [
        (range(8), range(4), 96),  # half of the classes are in use
        (range(3), range(2), 96),  # few were there at the start, too
        (range(8), range(2), 4),  # half of what four samples can be
        ([5], [5], 1),
    ],
)
def test_otherwise_nothing_is_said(start, end, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapt(start, end, n)


def test_without_a_pool_the_method_learns_from_an_empty_one():
    data = make_synthetic()
    model = Fixed([1], [1]).fit(*data[:3])
    classifier = model.adapt(data.S_new)
    assert len(classifier.labels) == len(classifier.history) == 0
    assert model.restore(classifier.state()).scores(data.X_new).shape == (96, 8)


@pytest.mark.filterwarnings("ignore:.* labels collapsed")
@pytest.mark.parametrize("name", WITH_POOL)
def test_every_round_tells_what_changed_and_how_many_classes_are_in_use(name):
    data = make_synthetic(n_seen=12, n_unseen=5, noise=1.0)
    classifier = make_method(name).fit(*data[:3]).adapt(data.S_new, data.X_new)
    table = classifier.rounds.table(data.y_new)
    aim = "distance" if name == "tzsar" else "objective"  # self-training has no objective
    assert len(table) >= 1
    assert table[[aim, "changed", "classes_in_use", "accuracy", "per_class_accuracy"]].notna().all(axis=None)
    for labels, in_use in zip(classifier.rounds.rounds(), table["classes_in_use"], strict=True):
        assert len(set(labels)) == in_use


def other_values(parameter):
    """Some that it may have and has not by itself."""
    kind, own = kind_of(parameter), parameter.default
    words = [word for part in (kind, *get_args(kind)) for word in get_args(part)]
    tried = [not own, *words, 0.3, 7, 1, None]
    return [value for value in tried if not check_value(kind, value) and value != own][:2]


@pytest.mark.filterwarnings("ignore:.* labels collapsed")
@pytest.mark.parametrize("name", slow_unless_quick(WITH_POOL))
def test_points_that_differ_in_any_parameter_share_nothing_that_it_changes(name):
    """One seen data and one pool for all of them, as in a search: each must find what it finds alone."""
    data = make_synthetic(n_seen=10, n_unseen=4, per_class=8, noise=1.0)
    points = [{}, *({p.name: value} for p in method_class(name).declared() for value in other_values(p))]
    assert {key for point in points for key in point} == set(make_method(name).get_params())
    targets = Targets(data.S_new, data.X_new, len(points))
    for point, model in zip(points, make_method(name).fit_path(*data[:3], points), strict=True):
        found = model.adapt_to(targets)
        alone = make_method(name, **point).fit(*data[:3]).adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(found.labels, alone.labels, err_msg=str(point))
        scores = alone.scores(data.X_new)
        np.testing.assert_allclose(
            found.scores(data.X_new), scores, atol=1e-9 * np.abs(scores).max(), err_msg=str(point)
        )


def adapted(name, data, targets=slice(None), samples=slice(None)):
    """The method with its own parameters, adapted to some of the unseen classes and samples, in some order."""
    return make_method(name).fit(*data[:3]).adapt(data.S_new[targets], data.X_new[samples])


@pytest.mark.filterwarnings("ignore:.* labels collapsed")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_permuted_samples_get_permuted_labels(name, seed):
    data = make_synthetic(n_seen=12, n_unseen=5, noise=1.0, seed=seed)
    order = np.random.default_rng(seed).permutation(len(data.X_new))
    labels, permuted = adapted(name, data).labels, adapted(name, data, samples=order).labels
    np.testing.assert_array_equal(permuted, labels[order])


@pytest.mark.filterwarnings("ignore:.* labels collapsed")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_relabelled_targets_are_relabelled_answers(name, seed):
    data = make_synthetic(n_seen=12, n_unseen=5, noise=1.0, seed=seed)
    order = np.random.default_rng(seed).permutation(len(data.S_new))
    permuted, first = adapted(name, data, targets=order), adapted(name, data)
    np.testing.assert_array_equal(order[permuted.labels], first.labels)
    for one, other in zip(permuted.rounds.rounds(), first.rounds.rounds(), strict=True):
        np.testing.assert_array_equal(order[one], other)


@pytest.mark.filterwarnings("ignore:.* labels collapsed")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in WITHOUT_BASE if name != "tzsar"])  # which has no objective
def test_with_its_own_parameters_the_objective_never_rises(name, seed):
    data = make_synthetic(n_seen=12, n_unseen=6, noise=1.5, seed=seed)
    objective = adapted(name, data).history["objective"].to_numpy()
    assert (np.diff(objective) <= 1e-6 * objective[0]).all()  # products may be in single precision


@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_one_sample_alone_starts_with_what_the_seen_classes_say_of_it(name):
    data = make_synthetic(n_seen=12, n_unseen=5, noise=0.5)
    model, samples = make_method(name).fit(*data[:3]), data.X_new[::6]
    found = [model.adapt(data.S_new, sample[None]).rounds.start[0] for sample in samples]
    np.testing.assert_array_equal(found, model.adapt(data.S_new).predict(samples))


GUARDED = [name for name in WITH_POOL if "guard" in make_method(name).get_params()]


@pytest.mark.parametrize("name", slow_unless_quick(GUARDED))
def test_a_guard_keeps_the_answers_without_a_pool_that_is_too_small(name):
    data = make_synthetic()
    few = data.X_new[:: len(data.X_new) // 9]  # of 8 classes
    published, cautious = (make_method(name, guard=guard).fit(*data[:3]) for guard in (False, True))
    found = cautious.adapt(data.S_new, few)
    np.testing.assert_array_equal(found.predict(few), published.adapt(data.S_new).predict(few))
    assert "fewer than 2 per class" in found.rounds.note
    assert "fewer than 2 per class" in cautious.restore(found.state()).rounds.note
    assert published.adapt(data.S_new, few).rounds.note == ""
    assert make_method(name).guard is False


def test_the_methods_of_the_papers_have_a_guard():
    papers = {"aezsl_lr", "eszsl_lr", "jeac", "lrl", "max_margin", "sms", "structured_prediction", "tzsar", "uda"}
    assert papers <= set(GUARDED)


class Told(Fixed):
    """Answers with one thing without a pool, and has learnt another from it."""

    guard = True

    def __init__(self, start=(), end=()):
        super().__init__(start, end)

    def _learn(self, S_target, pool, targets):
        history = LabelHistory(self.start[: len(pool)])
        if len(pool):
            history.record(self.end)
        return Answers(self, targets.S, self.start), history


class Answers(TargetClassifier):
    def __init__(self, model, S_target, labels):
        super().__init__(model, S_target)
        self.labels = labels

    def _scores(self, X):
        return np.eye(len(self.S_target))[self.labels]


def test_a_guard_lets_labels_stand_that_neighbours_agree_on_no_less():
    data = make_synthetic(noise=0.3)
    rng, right = np.random.default_rng(0), data.y_new
    worse = np.where(rng.random(len(right)) < 0.3, rng.integers(0, 8, len(right)), right)
    shuffled = rng.permutation(right)
    for start, end, kept in [
        (worse, right, False),
        (right, worse, True),
        (right, right, False),
        (shuffled, right, True),
    ]:
        found = Told(start, end).fit(*data[:3]).adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(found.labels, start if kept else end)
        assert bool(found.rounds.note) == kept
