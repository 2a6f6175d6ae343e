"""What is refused before the first node, and how many threads nodes have."""

import os
from contextlib import nullcontext

import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from threadpoolctl import threadpool_info, threadpool_limits

from aezsl.data.normalise import NormaliseSettings
from aezsl.datasets.inputs import NewImagesDataset
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.errors import AezslError, DataError, NotReadyError
from aezsl.hooks.checks import Checks, OneThreadPerTask
from aezsl.machine.provenance import Cost
from aezsl.methods import method_class
from aezsl.pipelines import export, predict
from aezsl.pipelines.ingestion.nodes import SplitSettings
from aezsl.reporting.names import PredictSettings
from aezsl.serving.model_file import ModelFolder


@pytest.mark.parametrize(
    ("name", "dataset", "named"),
    [
        ("params:feature_extraction", MemoryDataset(ExtractionSettings(backbone="vgg19+resnt50")), "resnt50.*resnet50"),
        ("new_images", NewImagesDataset(images="/nowhere"), "/nowhere"),
    ],
)
def test_networks_and_folders_that_there_are_not_are_refused(name, dataset, named):
    pipeline = Pipeline([node(lambda given: given, name, "out")])
    with pytest.raises(AezslError, match=named):
        Checks().before_pipeline_run({}, pipeline, DataCatalog({name: dataset}))


@pytest.mark.parametrize(
    ("pipeline", "model", "refused"), [(predict, None, True), (predict, "models:/birds/1", False), (export, "x", True)]
)
def test_a_registered_model_needs_none_of_this_project(pipeline, model, refused, tmp_path):
    settings = PredictSettings(method="aezsl", model=model)
    datasets = {"params:predict": MemoryDataset(settings), "models": MemoryDataset(ModelFolder(tmp_path), "assign")}
    asked = {}, pipeline.create_pipeline(), DataCatalog(datasets)
    if refused:
        with pytest.raises(NotReadyError, match="aezsl"):
            Checks().before_pipeline_run(*asked)
    else:
        Checks().before_pipeline_run(*asked)


@pytest.mark.parametrize(
    ("fixed", "n_seen", "refused"), [({}, 3, True), ({}, 4, False), ({"gamma": 1, "lam": 1}, 3, False)]
)
def test_too_few_classes_are_refused_as_soon_as_they_are_counted(fixed, n_seen, refused):
    given = {
        "params:split": SplitSettings(),
        "params:normalise": NormaliseSettings(features=["l2"], semantics=["l2"]),
        "params:eszsl": method_class("eszsl").settings()(**fixed),
    }
    split = node(lambda *_: None, list(given), "classes", name="split_classes")
    checks = Checks()
    checks.before_pipeline_run(
        {}, Pipeline([split]), DataCatalog({key: MemoryDataset(one) for key, one in given.items()})
    )
    classes = pd.DataFrame({"role": ["seen"] * n_seen + ["unseen"] * 9})
    # Kedro's runners hand over what a node made, one of a cluster leaves it where the catalog finds it.
    for outputs, kept in ({"classes": classes}, {}), ({}, {"classes": MemoryDataset(classes)}):
        with pytest.raises(DataError, match=f"4 classes.*{n_seen}") if refused else nullcontext():
            checks.after_node_run(split, DataCatalog(kept), outputs)


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
