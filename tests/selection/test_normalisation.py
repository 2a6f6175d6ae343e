import dataclasses

import numpy as np
import pandas as pd
import pytest

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import fit_normaliser
from aezsl.data.vectors import Vectors
from aezsl.errors import DataError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.pipelines.problem.nodes import choose_normalisation
from aezsl.selection import SelectionStore, class_folds, class_split, grid_points, select_normalisation
from aezsl.serving.assembly import assemble_problem
from tests.helpers.problems import make_problem
from tests.synthetic import make_synthetic

SETTINGS = {"rule": "random", "n_folds": 2, "seed": 0, "fraction": None}
FEATURES = [["standardise"], ["l2", "centre"]]
SEMANTICS = [[], ["standardise"]]


def dimmed(X):
    """Images of very different lengths, which say nothing of their classes: unit length is better than none."""
    return X * np.exp(2 * np.random.default_rng(0).normal(size=(len(X), 1)))


@pytest.fixture
def raw():
    problem = make_problem("zsl", make_synthetic(n_seen=16, n_unseen=5, per_class=10, noise=1.0))
    return dataclasses.replace(problem, X_train=dimmed(problem.X_train), X_test=dimmed(problem.X_test))


@pytest.fixture
def store(tmp_path):
    return SelectionStore(tmp_path / "normalisation.csv")


def literal_score(problem, features, semantics):
    """The best point's mean over folds; means and scales of the training part, all fits from their samples."""
    points = grid_points(type(make_method("eszsl")).grid)
    scores = np.zeros(len(points))
    folds = class_folds(len(problem.S_seen), len(problem.S_unseen), **SETTINGS)
    for held_out in folds:
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        (of_features, X), (of_semantics, S) = fit_normaliser(features, X), fit_normaliser(semantics, S)
        for p, point in enumerate(points):
            model = make_method("eszsl", **point).fit(X, y, S)
            scores[p] += per_class_accuracy(y_val, model.predict(of_features(X_val), of_semantics(S_val))) / len(folds)
    return scores.max()


def test_every_combination_has_the_score_of_its_literal_validation(raw, store):
    chosen = select_normalisation(raw, FEATURES, SEMANTICS, SETTINGS, store)
    table = pd.read_csv(store.path).sort_values("point")
    expected = [literal_score(raw, features, semantics) for features in FEATURES for semantics in SEMANTICS]
    np.testing.assert_allclose(table["mean"], expected, atol=1e-12)
    best = int(np.argmax(expected))
    assert chosen == {"features": FEATURES[best // 2], "semantics": SEMANTICS[best % 2]}
    assert chosen["features"] == ["l2", "centre"]
    assert len(set(expected)) == 4


def test_of_equal_combinations_the_first_is_taken(raw, store):
    chosen = select_normalisation(raw, [["l2"], ["l2", "l2"]], [["l2"], ["l2", "l2"]], SETTINGS, store)
    assert chosen == {"features": ["l2"], "semantics": ["l2"]}


def test_a_choice_is_made_once(raw, store, monkeypatch):
    first = select_normalisation(raw, FEATURES, SEMANTICS, SETTINGS, store)
    monkeypatch.setattr("aezsl.selection.normalisation.class_folds", None)  # whoever validates would call it
    assert select_normalisation(raw, FEATURES, SEMANTICS, SETTINGS, store) == first
    with pytest.raises(TypeError):
        select_normalisation(raw, FEATURES, SEMANTICS, {**SETTINGS, "seed": 1}, store)


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
    }


def choose(tables, store, normalise, mapped=None):
    return choose_normalisation(
        **tables, normalise=normalise, selection=SETTINGS, scores=store, store=mapped, setting="zsl"
    )


def test_new_data_goes_through_what_was_chosen(tables, store):
    chosen = choose(tables, store, {"features": "standardise/l2+centre", "semantics": ["l2"]})
    assert chosen == {"features": ["l2", "centre"], "semantics": ["l2"]}
    extraction = {"backbone": "file", "weights": "default", "layer": None, "path": None}
    rest = {"attribute_names": [], "extraction": extraction, "embedding": {"sources": [{"kind": "names"}]}}
    problem, _, recipe = assemble_problem(**tables, **rest, normalise=chosen, store=None, setting="zsl")
    assert recipe.features.steps == ("l2", "centre")
    new = tables["features"].matrix[-1:].astype(np.float64)
    np.testing.assert_allclose(recipe.features(new), problem.X_test[-1:])


def test_without_alternatives_nothing_is_validated_and_no_former_scores_stay(tables, store):
    store.path.write_text("of a former run")
    assert choose(tables, store, {"features": ["sqrt", "l2"], "semantics": []}) == {
        "features": ["sqrt", "l2"],
        "semantics": [],
    }
    assert not store.path.exists()


def test_alternatives_for_features_on_disk_are_refused(tables, store, tmp_path):
    with pytest.raises(DataError, match="give one list of steps"):
        choose(tables, store, {"features": FEATURES, "semantics": ["l2"]}, MappedArrays(tmp_path))
