import warnings

import numpy as np
import pytest

from aezsl.methods import METHODS, LinearClassifier, make_method
from aezsl.methods.history import LabelHistory
from aezsl.methods.transductive import TransductiveMethod
from tests.synthetic import make_synthetic


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


def test_a_collapse_is_told_and_what_helps():
    with pytest.warns(UserWarning, match="3 of 8 target classes.* 5 were at the start; try another method"):
        adapt(range(5), range(3))


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
@pytest.mark.parametrize("name", [entry.name for entry in METHODS.values() if entry.pool and not entry.paired])
def test_every_round_tells_what_changed_and_how_many_classes_are_in_use(name):
    data = make_synthetic(n_seen=12, n_unseen=5, noise=1.0)
    classifier = make_method(name).fit(*data[:3]).adapt(data.S_new, data.X_new)
    table = classifier.rounds.table(data.y_new)
    aim = "distance" if name == "tzsar" else "objective"  # self-training has no objective
    assert len(table) >= 1
    assert table[[aim, "changed", "classes_in_use", "accuracy", "per_class_accuracy"]].notna().all(axis=None)
    for labels, in_use in zip(classifier.rounds.rounds(), table["classes_in_use"], strict=True):
        assert len(set(labels)) == in_use
