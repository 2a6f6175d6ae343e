"""The comparison of all methods in one run, and what it says of those that were not run."""

import json
import os

import pandas as pd
import pytest
from kedro.pipeline import Pipeline
from kedro.runner import ThreadRunner
from threadpoolctl import threadpool_info, threadpool_limits

from aezsl.hooks import OneThreadPerTask
from aezsl.methods import METHODS
from aezsl.pipeline_registry import create_method_pipeline, register_pipelines
from aezsl.pipelines import comparison
from aezsl.provenance import Cost
from aezsl.reporting.comparison import comparison_table, to_markdown
from aezsl.reporting.published import GENERALIZED_CUB, IMAGENET, IMAGENET_COLUMNS, TABLE_1
from aezsl.selection import search
from tests.pipelines.test_methods import make_problem, run


@pytest.fixture(scope="module")
def catalog():
    pipeline = sum((create_method_pipeline(name) for name in METHODS), comparison.create_pipeline())
    return run(pipeline, make_problem("zsl"), list(METHODS))


def test_every_method_has_a_line_with_its_own_result(catalog):
    table = catalog.load("table1").set_index("method")
    assert set(METHODS) <= set(table.index)
    for name in METHODS:
        assert table.loc[name, "accuracy"] == pytest.approx(100 * catalog.load(f"{name}.metrics")["accuracy"])
        assert json.loads(table.loc[name, "chosen"]) == catalog.load(f"{name}.chosen")
        assert table.loc[name, "state"] == "run"
        assert 0 <= table.loc[name, "fit_seconds"] <= table.loc[name, "fit_and_rank_seconds"]
    assert table.loc["aezsl_lr", "kind"] == "transductive"
    assert table.loc["aezsl", "kind"] == "inductive"
    assert "published on other features" in catalog.load("table1_text").lower()


def test_records_say_on_which_problem_a_result_was_made(catalog):
    fingerprint = make_problem("zsl").fingerprint
    assert {catalog.load(f"{name}.record")["problem_fingerprint"] for name in METHODS} == {fingerprint}


def test_all_methods_share_one_problem():
    table1 = register_pipelines()["table1"]
    names = [node.name for node in table1.nodes]
    assert names.count("assemble_problem") == 1
    assert names.count("collect_table1") == 1
    assert isinstance(table1, Pipeline)


def test_what_was_not_run_is_said():
    table = comparison_table({"eszsl": {"metrics": {"accuracy": 0.5}, "chosen": {"lam": 1.0}}}).set_index("name")
    assert table.loc["ESZSL", ["state", "accuracy"]].tolist() == ["run", 50.0]
    assert table.loc["AEZSL", "state"] == "not run"
    assert pd.isna(table.loc["AEZSL", "accuracy"])
    assert table.loc["Kodirov et al.", "state"] == "published only"
    unlabelled = comparison_table({"eszsl": {"metrics": {}, "chosen": {}}}).set_index("name")
    assert unlabelled.loc["ESZSL", "state"] == "run, no test labels"


def test_published_averages_are_those_of_the_paper():
    """The paper prints the mean of the three data sets: a check of what was carried over."""
    means = {row.label: (row.cub + row.sun + row.dogs) / 3 for row in TABLE_1}
    expected = {"ESZSL": 57.50, "EXEM": 62.48, "AEZSL": 64.12, "AEZSL_LR": 69.18, "AEZSL_sim": 63.01, "RKT": 58.95}
    assert {name: means[name] for name in expected} == pytest.approx(expected, abs=0.011)  # some are cut, not rounded
    assert {len(values) for rows in IMAGENET.values() for *_, values in rows} == {len(IMAGENET_COLUMNS)}
    for rows in IMAGENET.values():
        for *_, values in rows:
            assert list(values[:5]) == sorted(values[:5])  # hit@K grows with K
    assert max(GENERALIZED_CUB, key=lambda row: row[-1])[0] == "AEZSL with calibrated stacking"


def test_markdown_has_a_cell_per_column_and_no_nan():
    text = to_markdown(pd.DataFrame({"a": [1.234, float("nan")], "b": ["x|y", None]}))
    assert text.splitlines() == ["| a | b |", "| --- | --- |", "| 1.23 | x\\|y |", "|  |  |"]


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("runner", ["ThreadRunner", "ParallelRunner", "SequentialRunner"])
def test_nodes_side_by_side_keep_to_one_thread_each(runner, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    hook = OneThreadPerTask()
    alone = runner == "SequentialRunner"
    with threadpool_limits(2, user_api="blas"):  # whatever the tests themselves were given
        hook.before_pipeline_run({"runner": f"<kedro.runner.{runner} object>"})
        assert blas_threads() == ({2} if alone else {1})
        assert Cost.measure_memory == (runner != "ThreadRunner")
        assert os.environ.get("OMP_NUM_THREADS") == (None if alone else "1")
        hook.after_pipeline_run()
        assert blas_threads() == {2}
        assert Cost.measure_memory
    assert "OMP_NUM_THREADS" not in os.environ


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
