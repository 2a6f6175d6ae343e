"""MLflow's database under stops and company, and runs whose process is gone."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import mlflow
import pandas as pd
import psutil
import pytest

from aezsl.errors import NotReadyError
from aezsl.hooks import database as tracking
from aezsl.hooks.database import HOST, PID, STARTED, VIEW, prepare_database, save_view, sign_run
from aezsl.hooks.mlflow_run import TrackedRun
from aezsl.machine.processes import Process

pytestmark = pytest.mark.slow  # making MLflow's tables takes seconds

EXPERIMENT = {"name": "birds"}
GONE = 2**22 - 1  # above what Linux gives out by default


def uri(folder):
    return f"sqlite:///{folder}/mlflow.db"


def alter(path, *commands):
    with closing(sqlite3.connect(path)) as connection:
        for command in commands:
            connection.execute(command)
        connection.commit()


def refusal(folder):
    with pytest.raises(NotReadyError) as caught:
        prepare_database(uri(folder), EXPERIMENT)
    sentence = str(caught.value)
    assert str(folder / "mlflow.db") in sentence
    assert "\n" not in sentence
    return sentence


def with_a_run(folder, empty_runs):
    """A database with a run; a copy, as MLflow remembers one that it has opened."""
    first = folder / "first"
    first.mkdir()
    shutil.copy(empty_runs, first / "mlflow.db")
    client = mlflow.MlflowClient(uri(first))
    client.create_run(client.create_experiment("old"))
    return Path(shutil.copy(first / "mlflow.db", folder / "mlflow.db"))


def test_a_half_made_database_without_a_row_may_be_deleted(tmp_path, empty_runs):
    path = shutil.copy(empty_runs, tmp_path / "mlflow.db")
    alter(path, "drop table alembic_version", "drop table trace_info")
    assert "delete it" in refusal(tmp_path)


@pytest.mark.parametrize("row", ["create table mine (a)", "insert into registered_models (name) values ('m')"])
def test_a_half_made_database_with_anything_else_in_it_may_not(tmp_path, empty_runs, row):
    path = shutil.copy(empty_runs, tmp_path / "mlflow.db")
    alter(path, "drop table alembic_version", "drop table trace_info", row)
    assert "delete" not in refusal(tmp_path)


def test_a_database_of_another_version_may_not_be_deleted(tmp_path, empty_runs):
    path = with_a_run(tmp_path, empty_runs)
    alter(path, "update alembic_version set version_num = 'ffffffffffff'")
    sentence = refusal(tmp_path)
    assert "1 run" in sentence
    assert "delete" not in sentence


def test_a_locked_database_is_in_use(tmp_path, empty_runs, monkeypatch):
    monkeypatch.setattr(tracking, "PATIENCE", 0.2)
    path = with_a_run(tmp_path, empty_runs)
    for lock in ("immediate", "exclusive"):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(f"begin {lock}")
            started = time.monotonic()
            sentence = refusal(tmp_path)
        assert "in use" in sentence
        assert "delete" not in sentence
        assert time.monotonic() - started < 5
    prepare_database(uri(tmp_path), EXPERIMENT)


@pytest.mark.parametrize("part", [0.9, 0.5, 0.01])
def test_a_damaged_database_may_not_be_deleted(tmp_path, empty_runs, part):
    path = with_a_run(tmp_path, empty_runs)
    os.truncate(path, int(path.stat().st_size * part))
    content = path.read_bytes()
    assert "delete" not in refusal(tmp_path)
    assert path.read_bytes() == content


def test_a_folder_or_any_other_file_may_not_be_deleted(tmp_path):
    (tmp_path / "mlflow.db").mkdir()
    assert "delete" not in refusal(tmp_path)
    (tmp_path / "mlflow.db").rmdir()
    (tmp_path / "mlflow.db").write_text("a letter to a friend\n" * 100)
    assert "delete" not in refusal(tmp_path)


def test_a_place_where_nothing_can_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotReadyError, match=r"mlflow\.db.*MLFLOW_TRACKING_URI"):
        prepare_database(uri(tmp_path / "file"), EXPERIMENT)


def test_other_places_are_left_to_mlflow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for other in ("http://127.0.0.1:1", "sqlite://", "file:///nowhere"):
        prepare_database(other, EXPERIMENT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_first_runs_together_and_after_a_kill(tmp_path):
    program = f"from aezsl.hooks.database import prepare_database as p; p({uri(tmp_path)!r}, {EXPERIMENT!r})"

    def start():
        return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)

    killed = start()
    while killed.poll() is None and not list(tmp_path.glob(".mlflow.db.*-*")):
        time.sleep(0.01)
    assert killed.poll() is None, "the database is being made"
    killed.kill()
    killed.wait()
    assert not (tmp_path / "mlflow.db").exists()
    together = [start() for _ in range(2)]
    assert [process.communicate()[1] for process in together if process.wait()] == []
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        [".mlflow.db.lock", "mlflow.db"],
        ["mlflow.db"],
    )
    assert mlflow.MlflowClient(uri(tmp_path)).get_experiment_by_name("birds") is not None


@pytest.fixture
def active_run(tmp_path, empty_runs):
    shutil.copy(empty_runs, tmp_path / "mlflow.db")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri(tmp_path))
    mlflow.set_experiment("birds")
    with mlflow.start_run() as run:
        yield run
    mlflow.set_tracking_uri(before)


def test_runs_whose_process_is_gone_are_marked_as_killed(active_run):
    own, parent = Process.this(), psutil.Process(os.getppid())
    client = mlflow.MlflowClient()
    experiment = active_run.info.experiment_id
    elsewhere = client.create_experiment("fish")
    runs = {
        "gone": (experiment, own.host, GONE, own.started),
        "gone, of another data set": (elsewhere, own.host, GONE, own.started),
        "number given again": (experiment, own.host, own.pid, own.started - 1000),
        "at work": (experiment, own.host, parent.pid, int(parent.create_time())),
        "of another machine": (experiment, "another", GONE, own.started),
    }
    ids = {
        name: client.create_run(place, tags={HOST: host, PID: str(pid), STARTED: str(started)}).info.run_id
        for name, (place, host, pid, started) in runs.items()
    }
    unsigned = client.create_run(experiment).info.run_id
    sign_run()
    status = {name: client.get_run(run_id).info.status for name, run_id in ids.items()}
    assert status == {
        "gone": "KILLED",
        "gone, of another data set": "KILLED",
        "number given again": "KILLED",
        "at work": "RUNNING",
        "of another machine": "RUNNING",
    }
    assert client.get_run(unsigned).info.status == "RUNNING"
    assert client.get_run(active_run.info.run_id).data.tags[PID] == str(own.pid)


def test_a_run_and_one_below_it_keep_what_is_logged_to_each(active_run, tmp_path):
    run = TrackedRun.active()
    assert run.id == active_run.info.run_id
    child = run.child("ESZSL", {"method": "eszsl"})
    child.log_metrics({"accuracy": 0.5})
    child.log_params({f"p{i}": i for i in range(150)})  # more than one request may hold
    child.log_history(pd.DataFrame({"round": [0, 1], "accuracy": [0.25, 0.5], "note": ["a", "b"]}))
    (tmp_path / "table.csv").write_text("a\n1\n")
    child.log_path(tmp_path / "table.csv", "eszsl")
    child.log_path(tmp_path / "nothing")
    child.end()
    client = mlflow.MlflowClient()
    found = client.get_run(child.id)
    assert (found.info.status, found.info.run_name) == ("FINISHED", "ESZSL")
    assert found.data.tags["mlflow.parentRunId"] == run.id
    assert found.data.metrics == {"accuracy": 0.5, "round.accuracy": 0.5}
    assert len(found.data.params) == 150
    assert [metric.step for metric in client.get_metric_history(child.id, "round.accuracy")] == [0, 1]
    assert [file.path for file in client.list_artifacts(child.id)] == ["eszsl"]
    assert client.get_run(run.id).data.metrics == {}
    assert child.is_there
    client.delete_run(child.id)
    assert not child.is_there
    assert not TrackedRun("0" * 32).is_there


def test_an_experiment_keeps_a_view_of_its_results(active_run):
    save_view(active_run.info.experiment_id)
    tags = mlflow.MlflowClient().get_experiment(active_run.info.experiment_id).tags
    assert "metrics.`per_class_accuracy`" in json.loads(tags[f"mlflow.sharedViewState.{VIEW}"])["selectedColumns"]
