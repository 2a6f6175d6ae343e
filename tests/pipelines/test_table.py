"""Chosen methods in one run, and the table of them."""

from types import SimpleNamespace

import mlflow
import pytest

from aezsl.hooks.checks import Checks
from aezsl.pipeline_registry import TABLE
from aezsl.pipelines import reporting
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.pipelines import registered
from tests.helpers.problems import make_problem, run


def test_parameters_decide_which_methods_the_pipeline_runs(monkeypatch):
    monkeypatch.setattr(mlflow, "active_run", lambda: True)
    monkeypatch.setattr(TABLE, "names", ())
    monkeypatch.setattr(TABLE, "ceiling", False)
    parameters = {"table": {"methods": "sje+gzsl_eszsl+sje", "ceiling": True}}
    Checks().after_context_created(SimpleNamespace(config_loader={"parameters": parameters}))
    pipeline = registered()["table"]
    assert {"sje.metrics", "gzsl_eszsl.metrics", "supervised_ceiling", "table"} <= pipeline.all_outputs()
    assert "eszsl.metrics" not in pipeline.all_outputs()
    assert "problem" in pipeline.all_outputs()


def test_one_run_makes_models_and_their_table():
    names = ("eszsl", "ridge")
    pipeline = sum(map(create_method_pipeline, names), reporting.create_table(names, ceiling=True))
    catalog = run(pipeline, make_problem("zsl"), names)
    table = catalog.load("table").set_index("method")
    for name in names:
        assert table.loc[name, "accuracy"] == pytest.approx(100 * catalog.load(f"{name}.metrics")["accuracy"])
    assert table["ceiling"].iloc[0] == 100 * catalog.load("supervised_ceiling")["per_class_accuracy"]
    assert r"\begin{table}" in catalog.load("table_latex")
