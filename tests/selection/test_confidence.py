from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from aezsl.data.draws import held_out_mask
from aezsl.evaluation.calibration import choose_constant, merge, seen_unseen_curve
from aezsl.evaluation.confidence import Confidence, probabilities
from aezsl.evaluation.expectation import cautious
from aezsl.methods import make_method
from aezsl.selection import (
    CalibrationSettings,
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    class_split,
    optimism,
    problem_folds,
    validated_confidence,
)
from aezsl.selection.folds import fresh_folds
from tests.helpers.problems import make_problem
from tests.synthetic import make_synthetic

SELECTION = SelectionSettings(n_folds=2, fraction=0.4)
CALIBRATION = CalibrationSettings(seen_test_fraction=0.3)


@pytest.fixture(scope="module")
def problem():
    return make_problem("zsl")


@pytest.fixture
def store(tmp_path):
    return SelectionStore(tmp_path / "confidence.csv")


def calibrated(problem, chosen, store, name="eszsl", **changes):
    scores = SelectionStore(store.path.with_name("selection.csv"))
    given = SELECTION, ConfidenceSettings(**{"none_share": 0.1, **changes}), CALIBRATION, store, scores
    return validated_confidence(name, problem, *problem.normalisations, chosen, *given)


#: On fold 0 the first point has 0.9, and the one that is best on fold 1 has 0.7; on fold 1 it is the first again.
CHOSEN_FOR = pd.DataFrame({"point": [0, 1], "score_0": [0.9, 0.7], "score_1": [0.8, 0.9]})


@pytest.mark.parametrize("too_good", [0.0, 0.1])
def test_the_confidence_of_validation_images_is_what_to_expect(problem, store, too_good):
    if too_good:
        CHOSEN_FOR.to_csv(store.path.with_name("selection.csv"), index=False)
    chosen = {"gamma": 1.0, "lam": 1.0}
    found = calibrated(problem, chosen, store)
    sure, right, shares = [], [], []
    for held_out in problem_folds(problem, SELECTION):
        training, (X, y, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        X_learnt, y_learnt, S_learnt = training
        learnt = ~held_out_mask(y_learnt, CALIBRATION.seen_test_fraction, SELECTION.seed)
        method = make_method("eszsl", **chosen).fit(X_learnt[learnt], y_learnt[learnt], S_learnt)
        ranking = method.rank(X, S, len(S))
        others = np.arange(len(S_learnt)) != y_learnt[learnt][:, None]
        spread = method.adapt(S_learnt).scores(X_learnt[learnt])[others].std()
        sure += probabilities(ranking, spread * found.temperature)[:, 0].tolist()
        right += (ranking.classes[:, 0] == y).tolist()
        shares += [np.mean(ranking.classes[y == c, 0] == c) for c in range(len(S))]
    honest, n = np.mean(shares) - too_good, len(shares)
    assert astuple(found.expectation) == pytest.approx((honest, np.std(shares, ddof=1), n, len(S)))
    assert np.mean(sure) == pytest.approx((n * honest + 2 / len(S)) / (n + 2), abs=1e-9)
    row = pd.read_csv(store.path).set_index("among").loc["unseen"]
    assert row["accuracy"] == pytest.approx(np.mean(right))
    assert row["n_images"] == len(right)


def test_what_was_chosen_on_one_fold_is_measured_on_others(problem):
    one = SELECTION.model_copy(update={"n_folds": 1, "fraction": 0.2})
    (chosen_on,), folds = problem_folds(problem, one), fresh_folds(problem, one)
    assert len(folds) == 2
    assert len(np.unique(np.concatenate([chosen_on, *folds]))) == 3 * len(chosen_on)
    half = one.model_copy(update={"fraction": 0.6})  # which leaves no other fold of that size
    np.testing.assert_array_equal(fresh_folds(problem, half), problem_folds(problem, half))


def test_what_was_calibrated_is_taken_over_until_something_changes(problem, store, monkeypatch):
    first = calibrated(problem, {"gamma": 1.0}, store)
    with monkeypatch.context() as patch:
        patch.setattr("aezsl.selection.confidence._validate", None)
        assert calibrated(problem, {"gamma": 1.0}, store) == first
    other = calibrated(problem, {"gamma": 1.0}, store, none_share=0.0)
    assert (other.temperature, other.threshold) == (pytest.approx(first.temperature), 0.0)


def test_nothing_is_calibrated_where_it_is_switched_off_or_would_be_a_training(problem, store):
    for name, settings in (("eszsl", {"calibrate": False}), ("daezsl", {})):
        store.path.touch()
        assert calibrated(problem, {}, store, name, **settings) == Confidence()
        assert not store.path.exists()


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("name", ["eszsl", "eszsl_lr"])
def test_seen_and_unseen_classes_compete_by_the_constant_that_is_best_on_validation_classes(setting, name, store):
    problem = make_problem(setting)
    found = calibrated(problem, {"gamma": 1.0}, store, name).stacking
    curves, sure, right, n_unseen = [], [], [], 0
    for held_out in problem_folds(problem, SELECTION):
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        test = held_out_mask(y, CALIBRATION.seen_test_fraction, SELECTION.seed)
        true, all_S = np.concatenate([y[test], y_val + len(S)]), np.vstack([S, S_val])
        model = make_method(name, gamma=1.0).fit(X[~test], y[~test], S)
        sides = model.rank_sides(np.vstack([X[test], X_val]), all_S, len(S), len(all_S))
        if found.relative:
            sides = [side.scaled(1 / np.hstack([s.scores for s in sides]).std(axis=1).mean()) for side in sides]
        curves.append(seen_unseen_curve(true, *sides, len(S)))
        merged = merge(*sides, found.constant, len(S), len(S_val), len(all_S))
        scale = merged.scores.std(axis=1).mean() if found.relative else 1.0
        sure += probabilities(merged, scale * found.temperature)[:, 0].tolist()
        right += (merged.classes[:, 0] == true).tolist()
        n_unseen += len(S_val)
    assert found.relative == (name == "eszsl_lr")  # scores of a pool have a scale of their own
    assert found.constant == pytest.approx(choose_constant(*curves))
    expected = cautious(np.mean(right), n_unseen, 1 / len(problem.S_seen))
    assert np.mean(sure) == pytest.approx(expected, abs=1e-9)
    assert calibrated(problem, {"gamma": 1.0}, store, name).stacking == found  # taken over, to the last bit


def test_without_images_to_spare_seen_and_unseen_classes_compete_as_they_are(store):
    problem = make_problem("zsl", make_synthetic(n_seen=12, n_unseen=4, per_class=1))
    found = calibrated(problem, {}, store)
    assert found.stacking is None
    assert found.temperature is not None


def test_how_much_too_good_a_choice_is():
    apart, overlapping = [np.array([0, 1]), np.array([2, 3])], [np.array([0, 1]), np.array([1, 2])]
    assert optimism(CHOSEN_FOR, apart) == pytest.approx((0.2 + 0) / 2)
    assert optimism(CHOSEN_FOR, overlapping) == 0
    tied = pd.DataFrame({"score_0": [1.0, 0.5], "score_1": [1.0, 1.0]})
    assert optimism(tied, apart) == pytest.approx((0.25 + 0) / 2)
    assert optimism(pd.DataFrame({"point": [0], "mean": [np.nan]}), apart[:1]) == 0
