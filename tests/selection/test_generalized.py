"""Parameters chosen for the generalized setting, and by how much the best points differ."""

import re

import numpy as np
import pandas as pd
import pytest

from aezsl.data.draws import held_out_mask
from aezsl.data.normalise import fit_normaliser
from aezsl.errors import DataError
from aezsl.evaluation.calibration import ausuc, choose_constant, seen_unseen_curve
from aezsl.methods import make_method
from aezsl.selection import (
    CalibrationSettings,
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    class_folds,
    class_split,
    grid_points,
    select_parameters,
    validated_confidence,
)
from aezsl.selection.ties import compared_to_best, lead
from tests.helpers.problems import make_problem, make_raw
from tests.synthetic import make_synthetic

GRID = {"gamma": [0.01, 1.0, 100.0], "lam": [0.1, 10.0]}
CALIBRATION = CalibrationSettings(seen_test_fraction=0.3)


def settings(criterion, rule="random"):
    return SelectionSettings(rule=rule, n_folds=2, criterion=criterion)


@pytest.fixture
def store(tmp_path):
    return SelectionStore(tmp_path / "selection.csv")


def literal_curves(problem, rule, method, normalisation):
    curves = []
    for held_out in class_folds(len(problem.S_seen), len(problem.S_unseen), rule, 2):
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        test = held_out_mask(y, CALIBRATION.seen_test_fraction, 0)
        of_features, X_fit = fit_normaliser(normalisation["features"], X[~test])
        of_semantics, S = fit_normaliser(normalisation["semantics"], S)
        X_all, S_all = of_features(np.vstack([X[test], X_val])), np.vstack([S, of_semantics(S_val)])
        sides = method.fit(X_fit, y[~test], S).rank_sides(X_all, S_all, len(S), 1)
        curves.append(seen_unseen_curve(np.concatenate([y[test], y_val + len(S)]), *sides, len(S)))
    return curves


def literal_score(curves, criterion):
    if criterion == "ausuc":
        return np.mean([ausuc(curve) for curve in curves])
    constant = choose_constant(*curves, criterion=CALIBRATION.criterion)
    return np.mean([curve.at(constant).harmonic for curve in curves])


@pytest.mark.parametrize(
    ("name", "criterion", "rule"),
    [
        ("eszsl", "harmonic", "random"),
        ("eszsl", "ausuc", "first"),
        ("eszsl_lr", "harmonic", "first"),  # with a pool
        ("eszsl_lr", "ausuc", "random"),
    ],
)
def test_every_point_has_the_score_of_its_literal_validation(name, criterion, rule, store):
    raw = make_raw([["l2"], ["standardise"]], [["centre"]], "gzsl")
    selected = select_parameters(name, raw, {}, GRID, settings(criterion, rule), store, calibration=CALIBRATION)
    table = pd.read_csv(store.path)
    expected = np.array(
        [
            literal_score(literal_curves(raw, rule, make_method(name, **point), way), criterion)
            for way in raw.normalisations
            for point in grid_points(GRID)
        ]
    )
    np.testing.assert_allclose(table.sort_values("point")["mean"], expected, atol=1e-12)
    assert len(set(expected.round(6))) > 1
    best = int(table["point"].iloc[0])
    assert expected[best] == expected.max()
    assert selected == (grid_points(GRID)[best % 6], raw.normalisations[best // 6])


def test_the_constant_is_the_one_of_the_same_curves(store):
    raw = make_raw([["l2"], ["standardise"]], [["centre"]], "gzsl")
    for way in raw.normalisations:
        curves = literal_curves(raw, "random", make_method("eszsl", gamma=10.0), way)
        confidence = ConfidenceSettings(calibrate=False)  # the generalized setting needs the constant in any case
        given = {"gamma": 10.0}, settings("accuracy"), confidence, CALIBRATION, store, store
        found = validated_confidence("eszsl", raw, way, *given)
        assert found.stacking.constant == choose_constant(*curves, criterion="ausuc")


def test_the_conventional_setting_has_accuracy_for_its_only_criterion(store, monkeypatch):
    problem = make_problem("zsl")
    chosen = select_parameters("eszsl", problem, {}, GRID, settings("accuracy"), store)
    monkeypatch.setattr("aezsl.selection.search.cross_validate", None)  # whoever validates would call it
    assert select_parameters("eszsl", problem, {}, GRID, settings("ausuc"), store) == chosen
    with pytest.raises(TypeError):
        select_parameters("eszsl", problem, {}, GRID, settings("ausuc"), store, calibration=CALIBRATION)


def test_without_images_to_spare_the_criterion_is_refused(store):
    problem = make_problem("zsl", make_synthetic(n_seen=12, n_unseen=4, per_class=1))
    with pytest.raises(DataError, match="harmonic"):
        select_parameters("eszsl", problem, {}, GRID, settings("harmonic"), store, calibration=CALIBRATION)


def test_the_table_and_a_line_say_by_how_much_the_best_points_differ(store, caplog):
    problem = make_problem("zsl", make_synthetic(n_seen=16, n_unseen=5, per_class=10, noise=2.0))
    caplog.set_level("INFO")
    select_parameters("eszsl", problem, {}, GRID, settings("accuracy"), store)
    table = pd.read_csv(store.path)
    best = table["mean"].max()
    np.testing.assert_allclose(table["behind"], best - table["mean"], atol=1e-12)
    n_samples = sum(np.isin(problem.y_train, fold).sum() for fold in class_folds(16, 5, "random", 2))
    error = np.sqrt(best * (1 - best) / n_samples)
    assert table["within_error"].tolist() == (table["mean"] >= best - error).tolist()
    second, near = table["mean"].nlargest(2).iloc[1], table["within_error"].sum()
    assert re.search(rf"{best:.4f}.*{second:.4f}.*{error:.4f}.*\b{near} of {len(table)}\b", caplog.text)


def test_a_lead_of_two_points():
    table = pd.DataFrame({"mean": [0.5, 0.4, 0.46]})
    found = lead(table, 100)  # a standard error of 0.05
    assert (found.best, found.second, found.n_within) == (0.5, 0.46, 2)
    assert found.standard_error == pytest.approx(0.05)
    compared = compared_to_best(table, 100)
    assert compared["within_error"].tolist() == [True, False, True]
    np.testing.assert_allclose(compared["behind"], [0, 0.1, 0.04])
