"""All methods in one run: every method through its conventional pipeline, and the table that compares them."""

import json

import pytest
from kedro.pipeline import Pipeline
from kedro.runner import ThreadRunner

from aezsl.methods import METHODS, UNPAIRED
from aezsl.pipelines import reporting
from aezsl.selection import search
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.pipelines import registered
from tests.helpers.problems import make_problem, run
from tests.helpers.recipes import make_recipe

pytestmark = pytest.mark.slow  # all methods, one after the other


@pytest.fixture(scope="module")
def catalog():
    pipeline = sum((create_method_pipeline(name) for name in UNPAIRED), reporting.create_comparison(UNPAIRED))
    return run(pipeline, make_problem("zsl"), UNPAIRED)


def test_every_method_has_a_line_with_its_own_result(catalog):
    table = catalog.load("table1").set_index("method")
    assert set(UNPAIRED) <= set(table.index)
    for name in UNPAIRED:
        assert table.loc[name, "accuracy"] == pytest.approx(100 * catalog.load(f"{name}.metrics")["accuracy"])
        assert json.loads(table.loc[name, "chosen"]) == catalog.load(f"{name}.chosen")
        assert table.loc[name, "state"] == "run"
        assert 0 <= table.loc[name, "fit_seconds"] <= table.loc[name, "seconds"] <= table.loc[name, "seconds_with_base"]
    assert table.loc["aezsl_lr", "kind"] == "transductive"
    assert table.loc["aezsl", "kind"] == "inductive"
    assert "published" not in catalog.load("table1_text").lower()  # made-up data are in no paper


@pytest.mark.parametrize("name", UNPAIRED)
def test_conventional_pipeline(catalog, name):
    problem = make_problem("zsl")
    metrics, predictions = catalog.load(f"{name}.metrics"), catalog.load(f"{name}.predictions")
    right = predictions["true"] == predictions["predicted"]
    assert metrics["accuracy"] == metrics["hit_at_1"] == right.mean()
    assert set(predictions["label_space"]) == {"unseen"}
    assert set(predictions["predicted"]) <= set(problem.unseen_names)
    assert catalog.load(f"{name}.per_class")["images"].sum() == len(problem.X_test)
    assert catalog.load(f"{name}.model").recipe.backbone == make_recipe()[0].backbone  # with every model
    if METHODS[name].pool:
        history = catalog.load(f"{name}.refinement_history")
        assert {"changed", "differ_from_start", "classes_in_use"} <= set(history)
        assert history[["round", "changed", "differ_from_start"]].iloc[0].tolist() == [0, 0, 0]
        assert history["accuracy"].iloc[-1] == metrics["accuracy"]


def test_records_say_on_which_problem_a_result_was_made(catalog):
    fingerprint = make_problem("zsl").fingerprint
    assert {catalog.load(f"{name}.record")["problem_fingerprint"] for name in UNPAIRED} == {fingerprint}


def test_all_methods_share_one_problem():
    table1 = registered()["table1"]
    names = [node.name for node in table1.nodes]
    assert names.count("assemble_problem") == 1
    assert names.count("collect_table1") == 1
    assert not {"cosine.fit_model", "zlap.fit_model"} & set(names)
    assert {"cosine.fit_model", "zlap.fit_model"} <= {node.name for node in registered()["table1_pair"].nodes}


def test_methods_work_side_by_side_and_a_later_run_goes_on_where_one_ended(monkeypatch):
    names = ["eszsl", "rkt", "conse", "dap"]
    pipeline = sum((create_method_pipeline(name) for name in names), Pipeline([]))
    problem = make_problem("zsl")
    first = run(pipeline, problem, names, n_values=2, runner=ThreadRunner())

    selected = []
    validate = search.cross_validate
    monkeypatch.setattr(search, "cross_validate", lambda method, *of: selected.append(method) or validate(method, *of))
    finished = {name: first.load(f"{name}.selection") for name in names[:3]}  # it was interrupted in the last method
    second = run(pipeline, problem, names, n_values=2, runner=ThreadRunner(), stores=finished)
    assert [type(method).__name__ for method in selected] == ["DAP"]
    for name in names:
        assert second.load(f"{name}.metrics") == first.load(f"{name}.metrics")
