"""Whether descriptions carry meaning: own ones against names, scrambled and swapped ones, random vectors."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from aezsl.data.normalise import Normaliser, join_step
from aezsl.pipelines import reporting
from aezsl.reporting import controls
from aezsl.reporting.controls import CONTROLS, METHOD, controlled_problem, in_a_sentence
from aezsl.whole_pipelines import create_control_pipeline, create_method_pipeline
from tests.helpers.problems import make_problem, make_raw, run
from tests.helpers.recipes import make_recipe


def recipe_of(problem, **columns):
    names = problem.seen_names + problem.unseen_names
    roles = ["seen"] * len(problem.seen_names) + ["unseen"] * len(problem.unseen_names)
    vectors = np.vstack([problem.S_seen, problem.S_unseen])
    classes = pd.DataFrame({"class_name": names, "role": roles, **columns})[::-1]  # in another order than the problem
    return make_recipe(classes=classes, class_vectors=vectors[::-1], semantics=Normaliser())[0]


@pytest.fixture(scope="module")
def catalog():
    problem = make_problem("zsl")
    names = [METHOD, *(f"{METHOD}_{control}" for control in CONTROLS)]
    parts = [create_method_pipeline(METHOD), *map(create_control_pipeline, CONTROLS), reporting.create_controls(names)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controls, "with_fingerprints", lambda sources: sources)
        patch.setattr(controls, "embed_classes", lambda classes, _: np.eye(len(classes)))
        return run(sum(parts), problem, [METHOD], n_values=2, recipe=recipe_of(problem))


def test_own_descriptions_are_better_than_those_of_others(catalog):
    table = catalog.load("control_table").set_index("control")
    assert table.index.tolist() == [controls.OWN, *CONTROLS.values()]
    own, swapped = table.loc[controls.OWN], table.loc[CONTROLS["swapped"]]
    assert own["per_class_accuracy"] == 100 * catalog.load(f"{METHOD}.metrics")["per_class_accuracy"]
    assert np.isnan(own["difference"])
    assert swapped["difference"] == pytest.approx(swapped["per_class_accuracy"] - own["per_class_accuracy"])
    assert swapped["difference_high"] < 0
    assert " carry meaning on this data" in catalog.load("control_text")
    assert len(catalog.load("control_figure").axes[0].get_yticks()) == 5


def test_what_every_control_puts_in_place_of_descriptions(monkeypatch):
    problem = make_problem("zsl")
    recipe = recipe_of(problem)
    rows = {row.tobytes() for row in np.vstack([problem.S_seen, problem.S_unseen])}
    made = {control: controlled_problem(problem, recipe, control)[0] for control in ("swapped", "scrambled", "random")}
    S = np.vstack([made["swapped"].S_seen, made["swapped"].S_unseen])
    assert {row.tobytes() for row in S} == rows
    assert not (S[:16] == problem.S_seen).all(axis=1).any()
    np.testing.assert_allclose(np.sort(made["scrambled"].S_seen), np.sort(problem.S_seen))
    assert made["random"].S_seen.shape == problem.S_seen.shape
    for one in made.values():
        np.testing.assert_array_equal(one.X_train, problem.X_train)

    said = []
    monkeypatch.setattr(controls, "with_fingerprints", lambda sources: sources)
    monkeypatch.setattr(controls, "embed_classes", lambda classes, _: said.extend(classes["text"]) or np.eye(21))
    with_text = recipe_of(problem, text=["red round fruit"] * 21)
    controlled_problem(problem, with_text, "names")
    assert said[0] == "seen 0"
    controlled_problem(problem, with_text, "scrambled")
    assert {tuple(sorted(text.split())) for text in said[21:]} == {("fruit", "red", "round")}
    assert len(set(said[21:])) > 1


def test_sentences_of_others_are_scrambled_too(monkeypatch):
    problem, said = make_problem("zsl"), []
    recipe = recipe_of(problem)
    recipe = dataclasses.replace(recipe, sources=[{"kind": "text", "descriptions": "gloss"}])
    monkeypatch.setattr(controls, "with_fingerprints", lambda sources: sources)
    monkeypatch.setattr(controls, "embed_classes", lambda classes, _: said.extend(classes["text"]) or np.eye(21))
    monkeypatch.setattr(
        controls, "written_sentences", lambda _, classes: {name: [f"it is {name}"] for name in classes["class_name"]}
    )
    controlled_problem(problem, recipe, "scrambled")
    assert sorted(said[0].split()) == sorted(["it", "is", "seen", "0"])


def test_sources_are_joined_no_more(monkeypatch):
    """Names have vectors of another width than the blocks that a normalisation would join."""
    monkeypatch.setattr(controls, "with_fingerprints", lambda sources: sources)
    monkeypatch.setattr(controls, "embed_classes", lambda classes, _: np.eye(21))
    step = join_step([("text", [(0, 3)])])
    raw = make_raw(semantics=[["l2"], [step, "l2"], ["centre"]])
    made, _ = controlled_problem(raw, recipe_of(raw), "names")
    assert made.ways == {**raw.ways, "semantics": [["l2"], ["centre"]]}
    joined = dataclasses.replace(make_problem("zsl"), semantic_normaliser=Normaliser((step,)))
    assert controlled_problem(joined, recipe_of(joined), "names")[0].S_seen.shape == (16, 21)


def test_without_a_known_label_nothing_is_said():
    table = pd.DataFrame({"control": [controls.OWN, *CONTROLS.values()]})
    table[["difference", "difference_low", "difference_high"]] = np.nan
    assert "carry meaning on" not in in_a_sentence(table)
