"""Nodes on a Dask cluster: the same bits as in one process, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest
from kedro.io import AbstractDataset, DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner
from kedro_datasets.json import JSONDataset
from PIL import Image

from aezsl import cluster as cluster_module
from aezsl.cluster import ClusterError, connected, first_finished, is_elsewhere
from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import ExtractionSettings
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.errors import DataError, ParameterError
from aezsl.machine.workers import Workers, workers, working_on
from aezsl.methods import make_method
from aezsl.pipeline_registry import create_method_pipeline
from aezsl.runner import PLACE, DaskRunner, run_node, save_whole
from aezsl.selection import class_folds, cross_validate
from tests.helpers.problems import make_problem, run
from tests.helpers.projects import environment
from tests.synthetic import make_synthetic


def test_without_the_package_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cluster_module, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"not installed: pip install 'aezsl\[dask\]'"):
        DaskRunner()


def test_loading_in_threads_is_refused():
    with pytest.raises(ParameterError, match="no is_async"):
        DaskRunner(is_async=True)


@pytest.mark.parametrize(
    ("address", "elsewhere"),
    [(None, False), ("tcp://127.0.0.1:8786", False), ("localhost:8786", False), ("tls://10.0.0.3:8786", True)],
)
def test_addresses_of_other_machines_are_told(address, elsewhere):
    assert is_elsewhere(address) == elsewhere


def test_a_database_in_a_file_is_refused_for_other_machines(monkeypatch):
    import mlflow

    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://10.0.0.3:8786")
    monkeypatch.setattr(mlflow, "active_run", lambda: "a run")
    monkeypatch.setattr(mlflow, "get_tracking_uri", lambda: "sqlite:///mlflow.db")
    with pytest.raises(ClusterError, match=r"10.0.0.3.* start a tracking server .* MLFLOW_TRACKING_URI"):
        DaskRunner().run(Pipeline([]), DataCatalog())


def test_kedros_files_are_saved_whole_or_not_at_all(tmp_path):
    dataset = JSONDataset(filepath=str(tmp_path / "numbers.json"))
    save_whole(dataset, {"a": 1})
    with pytest.raises(Exception, match="not JSON serializable"):
        save_whole(dataset, {"a": 2, "b": object()})
    assert dataset.load() == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.json"]


# Nodes and tasks; those that kill their worker do so once, if they are told where to note it.


def die_once(mark):
    if mark and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def block_sum(block, X, mark):
    if block.start == 40:
        die_once(mark)
    return X[block].T @ X[block]


def gram(X, mark=None):
    blocks = [slice(i, i + 10) for i in range(0, len(X), 10)]
    return sum(workers().map(block_sum, blocks, X, mark))


def listed_gram(X):
    return gram(X).tolist(), type(workers()).__name__


def die_then_sum(X, mark):
    die_once(mark)
    return X.sum(axis=0)


@dataclass(frozen=True)
class DeadlyWorkers(Workers):
    """Those of a node, but for one task of one kind, which is killed once: the second of all that are carried out."""

    there: Workers = None
    kind: str = ""
    mark: str | None = None

    @property
    def elsewhere(self):
        return self.there.elsewhere

    def map(self, function, items, *shared):
        mark = self.mark if function.__name__ == self.kind else None
        return self.there.map(DeadlyTask(function, mark), enumerate(items), *shared)


@dataclass(frozen=True)
class DeadlyTask:
    function: Callable
    mark: str | None

    def __call__(self, item, *shared):
        if item[0] == 1:
            die_once(self.mark)
        return self.function(item[1], *shared)


def work_among_the_dying(work, kind, mark):
    with working_on(DeadlyWorkers(workers().n, there=workers(), kind=kind, mark=mark)):
        return work()


def statistics():
    from aezsl.data.statistics import SeenStatistics

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9_000, 5)).astype(np.float32), rng.integers(0, 4, 9_000)
    found = SeenStatistics.from_samples(X, y, 4).without(X, y, np.array([1]))
    return found.gram, found.sums


def spread():
    from aezsl.data.mapped_arrays import Rows
    from aezsl.data.statistics import class_squares

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9_000, 5)).astype(np.float32), rng.integers(0, 4, 9_000)
    return class_squares(Rows(X, slice(None)), y, np.zeros(5), np.eye(5), rng.normal(size=(4, 5)))


def streamed_aezsl():
    data = make_synthetic()
    model = make_method("aezsl", lambda1=0.1, lambda2=0.1, lambda3=1.0, memory_mb=0.01)  # so that targets are streamed
    return model.fit(data.X, data.y, data.S).adapt(data.S_new).classifiers


def grid():
    data = make_synthetic()
    folds = class_folds(len(data.S), len(data.S_new), n_folds=3)
    tables = [
        cross_validate(make_method("eszsl"), X, data.y, data.S, folds, {"gamma": [0.1, 1.0], "lam": [1.0]})
        for X in (data.X, data.X.astype(np.float32))
    ]
    return [table.to_numpy() for table in tables]


def ranking():
    from aezsl.evaluation import ranking

    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(9_000, 5)).astype(np.float32), rng.normal(size=(5, 40))
    with pytest.MonkeyPatch.context() as patch:  # on whichever worker this runs: only large products are tasks
        patch.setattr(ranking, "LARGE_PRODUCT", 1)
        found = ranking.top_k_products(X, P, 3)
    return found.classes, found.scores


def always_die(X):
    os.kill(os.getpid(), signal.SIGKILL)


def hold_too_much(X):
    kept = np.ones(300_000_000)  # 2.4 GB, where a worker has 2
    time.sleep(60)
    return kept


def refuse(X):
    raise DataError("expected something else: change it")


class DyingBackbone:
    """Three numbers of every image; dies of a black one."""

    fingerprint, config = "mean", {}

    def __init__(self, mark):
        self.mark = mark

    def load(self):
        return lambda image: np.asarray(image, dtype=np.float32), self.encode

    def encode(self, batch):
        if (batch == 0).all(axis=(1, 2, 3)).any():
            die_once(self.mark)
        return batch.mean(axis=(1, 2))


def make_images(folder, black):
    """The table of 18 small images, one of them black."""
    rng = np.random.default_rng(0)
    paths = [folder / f"{i}.png" for i in range(18)]
    for i, path in enumerate(paths):
        Image.fromarray((i != black) * rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).save(path)
    return pd.DataFrame({"image_id": [path.stem for path in paths], "path": list(map(str, paths))})


def stored_ids(store):
    shards = sorted((store.folder / "mean").glob("*.parquet"))
    return [image_id for shard in shards for image_id in pq.read_table(shard)["image_id"].to_pylist()]


def extract(images, store, mark):
    settings = ExtractionSettings(batch_size=2, shard_size=4)
    return extract_to_store(DyingBackbone(mark), images, store, settings)[0].fingerprint


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


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.glob(f"{PLACE.parent}/.*"))  # nothing of a run is left


def result(pipeline, runner=None, **inputs):
    catalog = DataCatalog({name: MemoryDataset(value) for name, value in inputs.items()})
    outputs = (runner or SequentialRunner()).run(pipeline, catalog)
    return {name: dataset.load() for name, dataset in outputs.items()}


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
def test_a_cluster_of_this_machine_is_seen_by_this_machine_alone():
    own = psutil.Process()
    before = {connection.laddr for connection in own.net_connections("tcp")}
    with connected(1, "auto", False):
        processes = [own, *own.children(recursive=True)]
        found = {c for process in processes for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    places = {connection.laddr for connection in found} - before
    assert len(places) >= 2  # the scheduler's and the worker's
    assert {place.ip for place in places} == {"127.0.0.1"}
    assert 8787 not in {place.port for place in places}  # no dashboard


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
    with pytest.raises(ClusterError, match=r"^deadly was given up, as its worker died .* \(1 in all\), .* memory"):
        result(Pipeline([node(always_die, "X", "Y", name="deadly")]), DaskRunner(), X=X)


@pytest.mark.slow
def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(cluster_module, "PATIENCE", 0.2)
    monkeypatch.setattr(cluster_module, "LOOK", 0.1)
    empty = LocalCluster(n_workers=0, processes=False, dashboard_address=None)
    with empty, Client(empty) as client:
        task = client.submit(abs, -1)
        with pytest.raises(ClusterError, match=r"^the cluster has had no worker for 0.2 s: "):
            first_finished([task])
        empty.scale(1)
        assert first_finished([task]) == {task}


@pytest.mark.slow
def test_a_node_above_the_memory_of_a_worker_is_named(dask_cluster, in_folder, monkeypatch):
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(
        ClusterError, match=r"^greedy was given up, .* more memory than a worker may have: start workers"
    ):
        result(Pipeline([node(hold_too_much, "X", "Y", name="greedy")]), DaskRunner(), X=X)


class WaitingBackbone:
    """Three numbers of every image, which are noted; waits at a black one for as long as it is told to."""

    fingerprint, config = "mean", {}

    def __init__(self, log, waits):
        self.log, self.waits = log, waits

    def load(self):
        return lambda image: np.asarray(image, dtype=np.float32), self.encode

    def encode(self, batch):
        if self.waits and (batch == 0).all(axis=(1, 2, 3)).any():
            time.sleep(600)
        with Path(self.log).open("a") as log:
            log.write("image\n" * len(batch))
        return batch.mean(axis=(1, 2))


def extract_waiting(images, store, log, waits):
    settings = ExtractionSettings(batch_size=2, shard_size=4)
    return extract_to_store(WaitingBackbone(log, waits), images, store, settings)[0].fingerprint


@pytest.mark.slow
def test_a_lost_scheduler_is_told_in_a_sentence_and_a_later_run_resumes(in_folder, monkeypatch):
    place = in_folder / "scheduler.json"
    options = {"env": environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options["env"]["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[1])
    dask = [sys.executable, "-m", "dask"]
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(place)]
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", "0", *here], **options)
    worker = subprocess.Popen([*dask, "worker", "--no-nanny", "--nthreads", "1", *here], **options)
    images, store = make_images(in_folder, black=9), VectorStore(in_folder / "store")
    two_shards = f"test $(ls {store.folder}/*/*.parquet | wc -l) = 2"
    killer = subprocess.Popen(["sh", "-c", f"until {two_shards}; do sleep 0.1; done; kill -9 {scheduler.pid}"])
    inputs = {"images": images, "store": store, "log": str(in_folder / "first"), "waits": True}
    pipeline = Pipeline([node(extract_waiting, list(inputs), "vectors", name="endless")])
    try:
        while not place.exists():
            time.sleep(0.05)
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", JSONDataset(filepath=str(place)).load()["address"])
        with pytest.raises(ClusterError, match=r"the scheduler was lost while endless was under way: .* again"):
            result(pipeline, DaskRunner(), **inputs)
    finally:
        for process in (scheduler, worker, killer):
            process.kill()
            process.wait(60)
    result(pipeline, **{**inputs, "log": str(in_folder / "second"), "waits": False})
    assert len((in_folder / "second").read_text().split()) == len(images) - 8  # two shards were there
    assert stored_ids(store) == images["image_id"].tolist()
