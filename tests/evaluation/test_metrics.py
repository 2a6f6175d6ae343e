import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import AezslError
from aezsl.evaluation.metrics import (
    accuracy,
    class_accuracies,
    classification_metrics,
    confusions,
    hit_at_k,
    per_class_accuracy,
)
from aezsl.evaluation.ranking import Ranking, top_k

TRUE = np.array([0, 0, 0, 0, 2, 2])
PREDICTED = np.array([0, 0, 0, 1, 0, 2])


def test_worked_by_hand():
    assert accuracy(TRUE, PREDICTED) == pytest.approx(4 / 6)
    assert per_class_accuracy(TRUE, PREDICTED) == pytest.approx((3 / 4 + 1 / 2) / 2)  # class 1 does not occur
    np.testing.assert_array_equal(class_accuracies(TRUE, PREDICTED, 4), [0.75, np.nan, 0.5, np.nan])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_per_class_accuracy_is_the_mean_over_the_classes_that_occur(pairs):
    true, predicted = np.array(pairs).T
    expected = np.mean([np.mean(predicted[true == c] == c) for c in set(true)])
    assert per_class_accuracy(true, predicted) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_hit_at_k_asks_for_the_rank_of_the_true_class(seed, k):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (20, 8)).astype(float)  # with ties
    true = rng.integers(0, 8, 20)
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.argmax(order == true[:, None], axis=1)
    assert hit_at_k(true, top_k(scores, 8), k) == pytest.approx(np.mean(rank < k))


def test_hit_at_k_beyond_the_ranking_is_refused():
    ranking = top_k(np.eye(30), 5)
    with pytest.raises(AezslError, match="hit@10"):
        classification_metrics(np.arange(30), ranking, 30)


def test_metrics_of_one_label_space():
    rng = np.random.default_rng(0)
    scores, true = rng.normal(size=(50, 12)), rng.integers(0, 12, 50)
    ranking = top_k(scores, 20)
    metrics = classification_metrics(true, ranking, 12)
    interval = ["per_class_accuracy_low", "per_class_accuracy_high"]
    assert list(metrics) == [
        "accuracy",
        "per_class_accuracy",
        *interval,
        "hit_at_1",
        "hit_at_2",
        "hit_at_5",
        "hit_at_10",
    ]
    assert metrics[interval[0]] < metrics["per_class_accuracy"] < metrics[interval[1]]
    assert metrics["hit_at_1"] == metrics["accuracy"] == np.mean(scores.argmax(axis=1) == true)
    hits = [metrics[f"hit_at_{k}"] for k in (1, 2, 5, 10)]
    assert hits == sorted(hits)
    assert all(type(value) is float for value in metrics.values())


def test_one_class_has_hit_at_1_only():
    ranking = Ranking(np.zeros((3, 1), dtype=int), np.ones((3, 1)))
    assert classification_metrics(np.zeros(3, dtype=int), ranking, 1) == {
        "accuracy": 1.0,
        "per_class_accuracy": 1.0,
        "per_class_accuracy_low": 1.0,
        "per_class_accuracy_high": 1.0,
        "hit_at_1": 1.0,
    }


class TestConfusions:
    names = ["cat", "dog", "eel"]

    def test_worked_by_hand(self):
        true = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
        predicted = np.array([1, 1, 0, 1, 2, 1, 0, 0, 0])
        table = confusions(true, predicted, self.names, 3)
        assert table.to_dict("records") == [
            {"true": "eel", "predicted": "cat", "count": 3, "share_of_class": 0.75},
            {"true": "cat", "predicted": "dog", "count": 2, "share_of_class": pytest.approx(2 / 3)},
            {"true": "dog", "predicted": "eel", "count": 1, "share_of_class": 0.5},  # before eel -> dog: stable
        ]

    def test_no_mistake_no_row(self):
        table = confusions(np.array([0, 1]), np.array([0, 1]), self.names, 5)
        assert len(table) == 0
        assert list(table.columns) == ["true", "predicted", "count", "share_of_class"]

    def test_narrow_labels_do_not_overflow(self):
        names = [f"class {i}" for i in range(300)]
        true, predicted = np.array([299, 7], dtype=np.int16), np.array([7, 299], dtype=np.int16)
        table = confusions(true, predicted, names, 5)
        assert set(zip(table["true"], table["predicted"], strict=True)) == {
            ("class 299", "class 7"),
            ("class 7", "class 299"),
        }
