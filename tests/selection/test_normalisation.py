"""Every method chooses how vectors are normalised, together with its parameters."""

import threading

import numpy as np
import pandas as pd
import pytest

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import NormaliseSettings, fit_normaliser, steps_text
from aezsl.data.vectors import Vectors
from aezsl.encoders.assembly import assemble_problem
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.errors import DataError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import make_method
from aezsl.methods.shared import linalg
from aezsl.selection import (
    SelectionSettings,
    SelectionStore,
    class_split,
    grid_points,
    problem_folds,
    select_in_every_way,
    select_parameters,
    side_by_side,
    suitable_normalisations,
)
from aezsl.selection.ties import clearly_best
from tests.helpers.problems import FEATURES, dimmed, make_raw
from tests.synthetic import make_synthetic

SETTINGS = SelectionSettings(n_folds=2, search="exhaustive")
GRID = {"gamma": [0.01, 1.0, 100.0], "lam": [0.1, 10.0]}


@pytest.fixture
def store(tmp_path):
    return SelectionStore(tmp_path / "selection.csv")


def literal_scores(problem, name, grid, normalisation):
    """Of every point, the mean over folds; means and scales of the training part, all fits from their samples.

    Classes are similar as they were given, whatever the normalisation.
    """
    points = grid_points(grid)
    scores = np.zeros(len(points))
    folds = problem_folds(problem, SETTINGS)
    for held_out in folds:
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        of_features, X = fit_normaliser(normalisation["features"], X)
        of_semantics, moved = fit_normaliser(normalisation["semantics"], S)
        for p, point in enumerate(points):
            model = make_method(name, **point).fit(X, y, moved, S)
            classifier = model.adapt(of_semantics(S_val), of_features(X_val), S_val)
            scores[p] += per_class_accuracy(y_val, classifier.predict(of_features(X_val))) / len(folds)
    return scores


def literal_choice(problem, best):
    """The best way, if it is ahead of the first by more than the standard error of the difference of two shares."""
    folds = problem_folds(problem, SETTINGS)
    n, p = sum(np.isin(problem.y_train, fold).sum() for fold in folds), max(best)
    return int(np.argmax(best)) if p - best[0] > np.sqrt(2 * p * (1 - p) / n) else 0


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("eszsl", GRID),
        ("aezsl_sim", {"lambda1": [0.1, 1.0], "lambda2": [1.0, 10.0]}),
        ("eszsl_lr", {"gamma": [0.1, 10.0], "lam": [1.0]}),  # with a pool
        ("conse", {"T": [3, 5]}),  # from samples
    ],
)
def test_every_combination_has_the_scores_of_its_literal_validation(name, grid, store):
    raw = make_raw()
    selected = select_parameters(name, raw, {}, grid, SETTINGS, store)
    table = pd.read_csv(store.path, keep_default_na=False)
    expected = np.concatenate([literal_scores(raw, name, grid, way) for way in raw.normalisations])
    np.testing.assert_allclose(table.sort_values("point")["mean"], expected, atol=1e-12)
    assert len(set(expected.round(6))) > 1
    chosen = table.iloc[0]
    by_way = expected.reshape(len(raw.normalisations), -1)
    assert selected.normalisation == raw.normalisations[literal_choice(raw, by_way.max(axis=1))]
    assert chosen["mean"] == pytest.approx(by_way.max(axis=1)[literal_choice(raw, by_way.max(axis=1))])
    assert [chosen["features"], chosen["semantics"]] == [steps_text(steps) for steps in selected.normalisation.values()]
    assert selected.parameters == {key: chosen[key] for key in grid}


def test_ways_to_normalise_features_are_tried_side_by_side_with_the_same_bits(tmp_path, monkeypatch):
    def scores(n):
        store, settings = SelectionStore(tmp_path / str(n)), SelectionSettings()
        with working_on(Workers(n)):
            select_parameters("eszsl_lr", make_raw(), {}, {"gamma": [0.1, 10.0]}, settings, store)
        return pd.read_csv(store.path)

    expected, original = scores(1), side_by_side._examine_part
    both = threading.Barrier(2, timeout=30)  # one after the other, they would wait in vain

    def together(*args):
        both.wait()
        return original(*args)

    monkeypatch.setattr(side_by_side, "_examine_part", together)
    pd.testing.assert_frame_equal(scores(2), expected, check_exact=True)


def test_of_equal_combinations_the_first_is_taken(store):
    raw = make_raw([["l2"], ["l2", "l2"]], [["l2"], ["l2", "l2"]])
    selected = select_parameters("eszsl", raw, {}, GRID, SETTINGS, store)
    assert selected.normalisation == {"features": ["l2"], "semantics": ["l2"]}


def test_a_method_without_a_grid_chooses_too(store):
    raw = make_raw()
    selected = select_parameters("eszsl", raw, {"gamma": 10.0}, {}, SETTINGS, store)
    scores = [literal_scores(raw, "eszsl", {"gamma": [10.0]}, way)[0] for way in raw.normalisations]
    assert selected == ({"gamma": 10.0}, raw.normalisations[literal_choice(raw, scores)])


def test_another_combination_is_taken_where_it_is_clearly_better_and_parameters_go_with_each(store):
    raw = make_raw([["l2"], ["sqrt", "l2"]], [["l2"]])
    gammas, scores = [1e4, 1.0], []
    for way, gamma in zip(raw.normalisations, gammas, strict=True):
        scores.append(literal_scores(raw, "eszsl", {"gamma": [gamma], "lam": [1.0]}, way)[0])
    fixed = [{"gamma": gamma} for gamma in gammas]
    found = select_in_every_way("eszsl", raw, {}, {"lam": [1.0]}, SETTINGS, store, going_with=fixed)
    table = pd.read_csv(store.path).sort_values("point")
    np.testing.assert_allclose(table["mean"], scores, atol=1e-12)
    every = [({"gamma": gamma, "lam": 1.0}, way) for gamma, way in zip(gammas, raw.normalisations, strict=True)]
    assert sorted(found, key=str) == sorted(every, key=str)
    assert found[0] == every[literal_choice(raw, scores)]


def test_what_chance_explains_does_not_outweigh_the_first():
    assert clearly_best([0.50, 0.53, 0.51], n_samples=400) == 0  # the error of a difference is 3.5 points
    assert clearly_best([0.50, 0.53, 0.51], n_samples=4000) == 1
    assert clearly_best([0.5, 0.5], n_samples=10**9) == 0
    assert clearly_best([1.0, 1.0], n_samples=10) == 0


@pytest.mark.slow
def test_methods_choose_for_themselves(tmp_path):
    """Signs and sizes of the semantics mean more to some methods than to others."""
    raw = make_raw([["standardise"], ["l2"], ["l2", "centre"]], [[], ["centre"], ["standardise"]])
    names = ("eszsl", "conse", "sje", "aezsl_sim")
    chosen = [
        select_parameters(name, raw, {}, make_method(name).grid, SETTINGS, SelectionStore(tmp_path / name))
        for name in names
    ]
    assert len({str(selected.normalisation) for selected in chosen}) > 1


def test_a_choice_is_made_once(store, monkeypatch):
    first = select_parameters("eszsl", make_raw(), {}, GRID, SETTINGS, store)
    monkeypatch.setattr("aezsl.selection.search.cross_validate", None)  # whoever validates would call it
    assert select_parameters("eszsl", make_raw(), {}, GRID, SETTINGS, store) == first
    for changed in (make_raw(semantics=[["l2"], []]), make_raw(features=FEATURES[::-1])):
        with pytest.raises(TypeError):
            select_parameters("eszsl", changed, {}, GRID, SETTINGS, store)


def test_decompositions_are_shared_by_combinations_and_methods(tmp_path, monkeypatch):
    """Features are decomposed once for each of two ways in two folds, semantics likewise: not for all combinations."""
    calls = []
    for function in ("moment_eigh", "row_space_eigh"):
        original = getattr(linalg, function)
        counted = lambda *args, original=original, function=function: calls.append(function) or original(*args)  # noqa: E731
        monkeypatch.setattr(f"aezsl.methods.core.seen.{function}", counted)
    raw = make_raw()
    for name in ("eszsl", "eszsl_t"):
        select_parameters(name, raw, {}, {"gamma": [1.0, 10.0]}, SETTINGS, SelectionStore(tmp_path / name))
    assert (calls.count("moment_eigh"), calls.count("row_space_eigh")) == (4, 4)


def test_a_method_that_compares_images_with_texts_is_offered_only_what_moves_neither():
    raw = make_raw([["l2"], ["centre", "l2"]], [["l2"], []])
    still = [{"features": ["l2"], "semantics": ["l2"]}, {"features": ["l2"], "semantics": []}]
    assert suitable_normalisations("cosine", raw, {}) == still
    assert suitable_normalisations("eszsl", raw, {}) == raw.normalisations
    assert suitable_normalisations("cosine", raw, {"stated_pair": True}) == raw.normalisations
    moved = make_raw([["centre"], ["sqrt"]], [[]])
    assert suitable_normalisations("cosine", moved, {}) == moved.normalisations  # to be refused with a reason


class TestNormalisedProblem:
    way = {"features": ["l2", "centre"], "semantics": ["standardise"]}

    def test_statistics_come_from_the_seen_data(self):
        raw = make_raw()
        found = raw.normalised(self.way)
        of_features, X = fit_normaliser(self.way["features"], raw.X_train)
        of_semantics, S = fit_normaliser(self.way["semantics"], raw.S_seen)
        for name, expected in (
            ("X_train", X),
            ("X_test", of_features(raw.X_test)),
            ("S_seen", S),
            ("S_unseen", of_semantics(raw.S_unseen)),
        ):
            np.testing.assert_array_equal(getattr(found, name), expected)
        assert found.normalisations == [self.way]

    def test_all_who_ask_are_given_one_copy(self):
        raw = make_raw()
        found = raw.normalised(self.way)
        assert raw.normalised(self.way) is found
        assert raw.normalised({**self.way, "semantics": []}).X_train is found.X_train
        assert found.normalised(self.way) is found

    def test_what_is_not_listed_is_refused(self):
        for problem in (make_raw(), make_raw().normalised(self.way)):
            with pytest.raises(DataError, match="l2"):
                problem.normalised({"features": ["l2"], "semantics": []})

    def test_the_alternatives_are_part_of_the_fingerprint(self):
        assert make_raw().fingerprint == make_raw().fingerprint
        assert make_raw().fingerprint != make_raw(features=FEATURES[::-1]).fingerprint


@pytest.fixture
def tables():
    """The same kind of data as tables and named vectors."""
    data = make_synthetic(n_seen=12, n_unseen=4, per_class=6, noise=1.0)
    names = [f"class {c}" for c in range(16)]
    labels = np.concatenate([data.y, data.y_new + 12])
    owners = [names[c] for c in labels]
    ids = [f"{i}.png" for i in range(len(labels))]
    roles = ["seen"] * 12 + ["unseen"] * 4
    return {
        "features": Vectors(np.array(ids), dimmed(np.vstack([data.X, data.X_new])).astype(np.float32), "f"),
        "semantics": Vectors(np.array(names), np.vstack([data.S, data.S_new]).astype(np.float32), "s"),
        "classes": pd.DataFrame({"class_name": names, "role": roles}),
        "split": pd.DataFrame(
            {"image_id": ids, "class_name": owners, "zsl": ["train" if c < 12 else "test" for c in labels]}
        ),
        "unreadable": {},
        "attribute_names": [],
        "extraction": ExtractionSettings(backbone="file"),
        "embedding": EmbeddingSettings(sources=[{"kind": "attributes"}]),
        "setting": "zsl",
    }


def test_new_data_goes_through_what_was_chosen(tables):
    normalise = NormaliseSettings(features="standardise/l2+centre", semantics=["l2"])
    problem, _, recipe = assemble_problem(**tables, normalise=normalise, store=None)
    assert problem.normalisations == [
        {"features": ["standardise"], "semantics": ["l2"]},
        {"features": ["l2", "centre"], "semantics": ["l2"]},
    ]
    own = problem.normalised(problem.normalisations[1])
    new = tables["features"].matrix[-1:].astype(np.float64)
    np.testing.assert_allclose(recipe.as_in(own).features(new), own.X_test[-1:])
    np.testing.assert_allclose(recipe.as_in(own).targets().vectors, own.S_unseen)


def test_one_way_is_gone_at_once(tables):
    problem, _, recipe = assemble_problem(
        **tables, normalise=NormaliseSettings(features="sqrt+l2", semantics=[]), store=None
    )
    (way,) = problem.normalisations
    assert way == {"features": ["sqrt", "l2"], "semantics": []}
    assert problem.normalised(way) is problem
    np.testing.assert_allclose(np.linalg.norm(problem.X_train, axis=1), 1)
    np.testing.assert_array_equal(recipe.as_in(problem).features(problem.X_test), recipe.features(problem.X_test))


def test_alternatives_for_features_on_disk_are_refused(tables, tmp_path):
    normalise = NormaliseSettings(features=FEATURES, semantics=["l2"])
    with pytest.raises(DataError, match="normalise"):
        assemble_problem(**tables, normalise=normalise, store=MappedArrays(tmp_path))
