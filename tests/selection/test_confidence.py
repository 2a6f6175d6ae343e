import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.confidence import probabilities
from aezsl.methods import make_method
from aezsl.selection import (
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    class_split,
    expected_accuracy,
    problem_folds,
    validated_confidence,
)
from tests.helpers.problems import make_problem

SELECTION = SelectionSettings(n_folds=2, fraction=0.4)
SETTINGS = ConfidenceSettings(none_share=0.1)


@pytest.fixture(scope="module")
def problem():
    return make_problem("zsl")


def test_the_confidence_of_validation_images_is_their_accuracy(problem, tmp_path):
    store = SelectionStore(tmp_path / "confidence.csv")
    chosen = {"gamma": 1.0, "lam": 1.0}
    found = validated_confidence("eszsl", problem, *problem.normalisations, chosen, SELECTION, SETTINGS, store)
    sure, right = [], []
    for held_out in problem_folds(problem, SELECTION):
        training, (X, y, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        ranking = make_method("eszsl", **chosen).fit(*training).rank(X, S, len(S))
        sure += probabilities(ranking, found.temperature)[:, 0].tolist()
        right += (ranking.classes[:, 0] == y).tolist()
    assert np.mean(sure) == pytest.approx((sum(right) + 1) / (len(right) + 2), abs=1e-9)
    row = pd.read_csv(store.path).iloc[0]
    assert row["accuracy"] == pytest.approx(np.mean(right))
    assert row["n_images"] == len(right)


def test_what_was_calibrated_is_taken_over_until_something_changes(problem, tmp_path, monkeypatch):
    store = SelectionStore(tmp_path / "confidence.csv")
    first = validated_confidence("eszsl", problem, *problem.normalisations, {"gamma": 1.0}, SELECTION, SETTINGS, store)
    with monkeypatch.context() as patch:
        patch.setattr("aezsl.selection.confidence._validate", None)
        assert (
            validated_confidence("eszsl", problem, *problem.normalisations, {"gamma": 1.0}, SELECTION, SETTINGS, store)
            == first
        )
    other = validated_confidence(
        "eszsl", problem, *problem.normalisations, {"gamma": 1.0}, SELECTION, ConfidenceSettings(none_share=0.0), store
    )
    assert (other.temperature, other.threshold) == (pytest.approx(first.temperature), 0.0)


def test_nothing_is_calibrated_where_it_is_switched_off_or_would_be_a_training(problem, tmp_path):
    store = SelectionStore(tmp_path / "confidence.csv")
    for name, settings in (("eszsl", ConfidenceSettings(calibrate=False)), ("daezsl", SETTINGS)):
        store.path.touch()
        assert (
            validated_confidence(name, problem, *problem.normalisations, {}, SELECTION, settings, store).temperature
            is None
        )
        assert not store.path.exists()


def test_an_accuracy_is_expected_that_was_not_chosen_for():
    table = pd.DataFrame({"point": [0, 1, 2], "score_0": [0.9, 0.2, 0.5], "score_1": [0.1, 0.8, 0.5]})
    # The best point of fold 1 has 0.2 on fold 0, that of fold 0 has 0.1 on fold 1.
    assert expected_accuracy(table) == pytest.approx((0.2 + 0.1) / 2)
    tied = pd.DataFrame({"point": [0, 1], "score_0": [1.0, 0.5], "score_1": [1.0, 1.0]})
    assert expected_accuracy(tied) == pytest.approx((0.75 + 1.0) / 2)
    assert expected_accuracy(table[["point", "score_0"]]) is None
