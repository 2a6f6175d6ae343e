"""Nodes on a Dask cluster: the same bits as in one process, whatever dies on the way."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kedro.io import AbstractDataset, DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro_datasets.json import JSONDataset

from aezsl.cluster import ClusterError
from aezsl.data.vector_store import VectorStore
from aezsl.errors import DataError
from aezsl.runner import DaskRunner, run_node
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.dying import (
    always_die,
    die_then_sum,
    extract,
    gram,
    grid,
    hold_too_much,
    listed_gram,
    make_images,
    ranking,
    refuse,
    result,
    spread,
    statistics,
    stored_ids,
    streamed_aezsl,
    work_among_the_dying,
)
from tests.helpers.problems import make_problem, run


@pytest.fixture(scope="module")
def two_workers():
    from distributed import LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit="2GB"
        ) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        yield cluster


def until(true, seconds):
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


@pytest.fixture
def dask_cluster(two_workers):
    """With both of its workers, which tests kill: one that dies before Dask has noted that it is up is not replaced."""

    def up():
        nannies = [nanny.status.name for nanny in two_workers.workers.values()]
        return nannies == ["running"] * 2 and len(two_workers.scheduler.workers) == 2

    if not until(up, 10):
        two_workers.scale(0)
        until(lambda: not two_workers.workers, 30)
        two_workers.scale(2)
        assert until(up, 60)
    return two_workers


X = np.random.default_rng(0).normal(size=(95, 7))


@pytest.mark.slow
def test_a_method_has_the_bits_of_the_sequential_runner(dask_cluster, in_folder):
    pipeline = create_method_pipeline("aezsl").to_outputs("aezsl.predictions", "aezsl.metrics")
    expected, found = (
        run(pipeline, make_problem("zsl"), ["aezsl"], n_values=2, runner=r) for r in (None, DaskRunner())
    )
    assert found.load("aezsl.metrics") == expected.load("aezsl.metrics")
    pd.testing.assert_frame_equal(found.load("aezsl.predictions"), expected.load("aezsl.predictions"), check_exact=True)


@pytest.mark.slow
def test_errors_of_the_project_arrive_as_they_are(dask_cluster, in_folder):
    with pytest.raises(DataError, match=r"^expected something else: change it$"):
        result(Pipeline([node(refuse, "X", "Y")]), DaskRunner(), X=X)


class DamagedDataset(AbstractDataset):
    """What Kedro tells of by an error of its own, with the project's as its cause."""

    def load(self):
        refuse(None)

    def save(self, data):
        raise NotImplementedError

    def _describe(self):
        return {}


@pytest.mark.slow
def test_errors_in_a_catalog_entry_arrive_as_they_are(dask_cluster, in_folder):
    catalog = DataCatalog({"X": DamagedDataset(), "mark": MemoryDataset(None)})
    with pytest.raises(DataError, match=r"^expected something else: change it$"):
        DaskRunner().run(Pipeline([node(die_then_sum, ["X", "mark"], "Y")]), catalog)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 7])
def test_tasks_inside_a_node_give_the_same_bits_for_any_number_of_workers(dask_cluster, in_folder, n):
    from distributed import Client

    places = {name: JSONDataset(filepath=str(in_folder / f"{name}.json")) for name in ("total", "kind")}
    datasets = {"X": MemoryDataset(X), **places}
    with Client(dask_cluster) as client:
        client.submit(run_node, node(listed_gram, "X", list(places)), datasets, in_folder, in_folder, n).result()
    assert places["total"].load() == gram(X).tolist()
    assert places["kind"].load() == "ClusterWorkers"


@pytest.mark.slow
@pytest.mark.parametrize("function", [gram, die_then_sum])  # a task of a node is killed; a node is
def test_a_worker_that_is_killed_changes_nothing(dask_cluster, in_folder, function):
    pipeline = Pipeline([node(function, ["X", "mark"], "Y")])
    expected, mark = result(pipeline, X=X, mark=None), in_folder / "killed"
    found = result(pipeline, DaskRunner(), X=X, mark=str(mark))
    assert mark.exists()
    np.testing.assert_array_equal(found["Y"], expected["Y"], strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (statistics, "_task_statistics"),
        (spread, "_task_squares"),
        (grid, "_examine_part"),
        (streamed_aezsl, "sum_right_sides"),
        (streamed_aezsl, "block_classifiers"),
        (ranking, "_rank_rows"),
    ],
)
def test_a_task_of_the_project_that_is_killed_changes_nothing(dask_cluster, in_folder, work, kind):
    pipeline = Pipeline([node(work_among_the_dying, ["work", "kind", "mark"], "Y")])
    expected, mark = result(pipeline, work=work, kind=kind, mark=None), in_folder / "killed"
    found = result(pipeline, DaskRunner(), work=work, kind=kind, mark=str(mark))
    assert mark.exists()
    for one, other in zip(found["Y"], expected["Y"], strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.slow
def test_a_killed_extraction_stores_nothing_twice(dask_cluster, in_folder):
    images = make_images(in_folder, black=9)
    inputs = {"images": images, "store": VectorStore(in_folder / "store"), "mark": str(in_folder / "killed")}
    result(Pipeline([node(extract, list(inputs), "vectors")]), DaskRunner(), **inputs)
    assert Path(inputs["mark"]).exists()
    assert stored_ids(inputs["store"]) == images["image_id"].tolist()


@pytest.mark.slow
def test_a_node_that_kills_every_worker_is_named(dask_cluster, in_folder, monkeypatch):
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match=r"^deadly"):
        result(Pipeline([node(always_die, "X", "Y", name="deadly")]), DaskRunner(), X=X)


@pytest.mark.slow
def test_a_node_above_the_memory_of_a_worker_is_named(dask_cluster, in_folder, monkeypatch):
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match=r"^greedy.*memory"):
        result(Pipeline([node(hold_too_much, "X", "Y", name="greedy")]), DaskRunner(), X=X)
