"""What happens around a run: which method it is about, and how many threads its nodes have."""

import os

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from threadpoolctl import threadpool_info, threadpool_limits

from aezsl.datasets.inputs import NewImagesDataset
from aezsl.errors import NotReadyError
from aezsl.hooks import BeforeAnythingRuns, OneThreadPerTask
from aezsl.machine.provenance import Cost
from aezsl.pipelines import export, predict
from aezsl.hooks.subject import describe_run, main_method, methods_with_runs
from aezsl.serving.model_file import ModelFolder


@pytest.mark.parametrize(
    ("named", "subject"),
    [
        ({"pipeline_name": "eszsl"}, "eszsl"),
        ({"pipeline_names": ["gzsl_aezsl"]}, "gzsl_aezsl"),
        ({"pipeline_names": ["ingestion", "eszsl"]}, "eszsl"),
        ({"pipeline_names": ["ingestion", "feature_extraction"]}, "ingestion"),
        ({"pipeline_name": "sensitivity_k"}, "aezsl_lr"),
        ({"pipeline_name": None, "pipeline_names": None}, "aezsl_lr"),
        ({}, "aezsl_lr"),
    ],
)
def test_the_first_method_named_is_what_a_run_is_about(named, subject):
    assert main_method(named) == subject


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"params:feature_extraction": {"backbone": "efficientnet_lite0+resnt50"}}, "'resnt50': did you mean resnet50"),
        ({"new_images": "/nowhere"}, "no folder /nowhere"),
    ],
)
def test_networks_and_folders_that_there_are_not_are_refused_before_the_first_node(inputs, sentence):
    datasets = {
        name: NewImagesDataset(images=value) if name == "new_images" else MemoryDataset(value | SETTINGS)
        for name, value in inputs.items()
    }
    pipeline = Pipeline([node(lambda given: given, name, "out") for name in inputs])
    with pytest.raises(ValueError, match=sentence):
        BeforeAnythingRuns().before_pipeline_run({}, pipeline, DataCatalog(datasets))


SETTINGS = {"weights": "default", "layer": None, "path": None}
REGISTERED = {"method": "aezsl", "model": "models:/birds/2"}
PARAMETERS = {"report": {"benchmark": "birds"}, "split": {"seed": 3}, "predict": {"method": "aezsl"}}


@pytest.mark.parametrize(
    ("pipelines", "name", "kind", "method"),
    [
        (["aezsl_lr"], "AEZSL_LR · birds · split 3", "training", "aezsl_lr"),
        (None, "AEZSL_LR · birds · split 3", "training", "aezsl_lr"),
        (["gzsl_eszsl"], "ESZSL, generalized · birds · split 3", "training", "gzsl_eszsl"),
        (["eszsl", "aezsl"], "ESZSL, AEZSL · birds · split 3", "training", None),
        (["table1"], "table1 · birds · split 3", "training", None),
        (["predict"], "predict, AEZSL · birds", "prediction", "aezsl"),
        (["export"], "export, AEZSL · birds", "export", "aezsl"),
        (["report"], "report · birds", "report", None),
        (["ingestion"], "ingestion · birds · split 3", "data", None),
    ],
)
def test_runs_are_named_by_method_data_and_split_and_told_apart_by_kind(pipelines, name, kind, method):
    tags = describe_run({"pipeline_names": pipelines}, PARAMETERS)
    assert (tags["mlflow.runName"], tags["kind"], tags.get("method")) == (name, kind, method)
    assert tags["benchmark"] == "birds"


def test_what_a_registered_model_answers_is_not_called_the_method_s():
    tags = describe_run({"pipeline_names": ["predict"]}, PARAMETERS | {"predict": REGISTERED})
    assert (tags["mlflow.runName"], tags.get("method")) == ("predict, models:/birds/2 · birds", None)
    tags = describe_run({"pipeline_names": ["export"]}, PARAMETERS | {"predict": REGISTERED})
    assert tags["method"] == "aezsl"


@pytest.mark.parametrize(
    ("pipelines", "measured", "below"),
    [
        (["aezsl_lr"], ["aezsl", "aezsl_lr"], []),  # its base stands beside it
        (None, ["aezsl", "aezsl_lr"], []),
        (["eszsl", "aezsl"], ["aezsl", "eszsl"], ["aezsl", "eszsl"]),
        (["table1"], ["aezsl", "eszsl"], ["aezsl", "eszsl"]),
        (["report"], [], []),
    ],
)
def test_a_run_of_several_methods_has_one_below_it_for_each(pipelines, measured, below):
    assert methods_with_runs({"pipeline_names": pipelines}, measured) == below


@pytest.mark.parametrize(
    ("pipeline", "model", "refused"), [(predict, None, True), (predict, "models:/birds/1", False), (export, "x", True)]
)
def test_a_registered_model_needs_none_of_this_project(pipeline, model, refused, tmp_path):
    settings = {"method": "aezsl", "model": model}
    datasets = {"params:predict": MemoryDataset(settings), "models": MemoryDataset(ModelFolder(tmp_path), "assign")}
    asked = {}, pipeline.create_pipeline(), DataCatalog(datasets)
    if refused:
        with pytest.raises(NotReadyError, match="aezsl has not been trained yet"):
            BeforeAnythingRuns().before_pipeline_run(*asked)
    else:
        BeforeAnythingRuns().before_pipeline_run(*asked)


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
