"""A cluster: where it is, that it is there, and that it stays."""

import os
import subprocess
import sys
import time

import psutil
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node
from kedro_datasets.json import JSONDataset

from aezsl import cluster as cluster_module
from aezsl.cluster import ClusterError, connected, first_finished, is_elsewhere
from aezsl.data.vector_store import VectorStore
from aezsl.errors import ParameterError
from aezsl.runner import DaskRunner, save_whole
from tests.helpers import ROOT
from tests.helpers.dying import extract_waiting, make_images, result, stored_ids
from tests.helpers.projects import environment


def test_without_the_package_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cluster_module, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match="dask"):
        DaskRunner()


def test_loading_in_threads_is_refused():
    with pytest.raises(ParameterError, match="is_async"):
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
    with pytest.raises(ClusterError, match=r"10\.0\.0\.3.*MLFLOW_TRACKING_URI"):
        DaskRunner().run(Pipeline([]), DataCatalog())


def test_kedros_files_are_saved_whole_or_not_at_all(tmp_path):
    dataset = JSONDataset(filepath=str(tmp_path / "numbers.json"))
    save_whole(dataset, {"a": 1})
    with pytest.raises(Exception, match="JSON"):
        save_whole(dataset, {"a": 2, "b": object()})
    assert dataset.load() == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.json"]


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


class OneWorker:
    """Stands in for a client of a cluster with one worker, which has what it is given."""

    def __init__(self, change):
        self.change = change

    def wait_for_workers(self, n, timeout):
        pass

    def run(self, function, folder):
        return {"tcp://worker": self.change(*function(folder))}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda sees, code, has: (False, code, has), "does not see"),
        (lambda sees, code, has: (sees, "another", has), "aezsl"),
        (lambda sees, code, has: (sees, code, has | {"numpy": "1.0"}), r"numpy 1\.0"),
        (lambda sees, code, has: (sees, code, {**has, "python": "3.99"}), r"python 3\.99"),
        (lambda sees, code, has: (sees, code, {name: has[name] for name in has if name != "scipy"}), "scipy missing"),
    ],
)
def test_a_worker_with_other_code_or_packages_is_refused(change, named):
    check = cluster_module._check_workers
    check(OneWorker(lambda *has: has))
    with pytest.raises(ClusterError, match=named):
        check(OneWorker(change))


@pytest.mark.slow
def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(cluster_module, "PATIENCE", 0.2)
    monkeypatch.setattr(cluster_module, "LOOK", 0.1)
    empty = LocalCluster(n_workers=0, processes=False, dashboard_address=None)
    with empty, Client(empty) as client:
        task = client.submit(abs, -1)
        with pytest.raises(ClusterError):
            first_finished([task])
        empty.scale(1)
        assert first_finished([task]) == {task}


@pytest.mark.slow
def test_a_lost_scheduler_is_told_in_a_sentence_and_a_later_run_resumes(in_folder, monkeypatch):
    place = in_folder / "scheduler.json"
    options = {"env": environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options["env"]["PYTHONPATH"] += os.pathsep + str(ROOT)
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
        with pytest.raises(ClusterError, match=r"scheduler.*endless"):
            result(pipeline, DaskRunner(), **inputs)
    finally:
        for process in (scheduler, worker, killer):
            process.kill()
            process.wait(60)
    result(pipeline, **{**inputs, "log": str(in_folder / "second"), "waits": False})
    assert len((in_folder / "second").read_text().split()) == len(images) - 8  # two shards were there
    assert stored_ids(store) == images["image_id"].tolist()
