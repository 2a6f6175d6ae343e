"""``aezsl serve``: who is refused before anything is read, what is counted, and what happens when a worker dies."""

import asyncio
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection

import psutil
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from aezsl.errors import DataError
from aezsl.methods import make_method
from aezsl.serving import server
from aezsl.serving.model_file import load_trained, save_trained
from aezsl.serving.server import HOST, ServeSettings, TooLargeError, make_app, read_bounded
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from aezsl.serving.zero_shot import find_model
from tests.helpers.projects import environment
from tests.helpers.recipes import make_recipe


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    recipe, data = make_recipe()
    fitted = make_method("eszsl").fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    path = tmp_path_factory.mktemp("model") / "model.npz"
    save_trained(path, TrainedModel(fitted, recipe))
    return path


@pytest.fixture
def client(model_file, tmp_path):
    settings = ServeSettings(str(model_file), names=("localhost",), json_lines=True, counts=str(tmp_path))
    with TestClient(make_app(ServedModel(load_trained(model_file)), settings), "http://localhost") as client:
        yield client


GOOD = {"dataframe_records": [{"features": [0.1] * 24}]}


def counts(client):
    lines = client.get("/metrics").text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_a_request_has_names_which_model_gave_them_one_line_and_counts(client, model_file, capsys):
    answer = client.post("/invocations", json={"dataframe_records": GOOD["dataframe_records"] * 3})
    predictions, metadata = answer.json()["predictions"], answer.json()["metadata"]
    assert len(predictions) == 3
    assert metadata["method"] == "eszsl"
    assert metadata["version"] == load_trained(model_file).version != ""
    assert client.get("/nowhere").status_code == 404
    served, lost = map(json.loads, capsys.readouterr().out.splitlines())
    assert (served["path"], served["status"], served["images"]) == ("/invocations", 200, 3)
    assert (lost["path"], lost["status"]) == ("/nowhere", 404)
    assert served["model"] == metadata["version"]
    counted = counts(client)
    assert counted['aezsl_requests_total{status="200"}'] == counted['aezsl_requests_total{status="404"}'] == 1
    assert counted["aezsl_images_total"] == 3
    assert counted["aezsl_none_of_these_total"] == sum(line["none_of_these"] for line in predictions)
    assert counted["aezsl_probability_total"] == pytest.approx(sum(line["probability"] for line in predictions))
    assert counted['aezsl_request_seconds_bucket{le="+Inf"}'] == counted["aezsl_request_seconds_count"] == 2
    assert any(metadata["version"] in name for name in counted if name.startswith("aezsl_model_info"))


def test_a_log_that_cannot_be_written_is_told_once_and_answers_go_on(client, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("builtins.print", full)
    assert [client.post("/invocations", json=GOOD).status_code for _ in range(3)] == [200] * 3
    assert len(caplog.records) == 1
    assert counts(client)["aezsl_images_total"] == 3


def test_probes_tell_whether_the_process_lives_and_whether_the_model_answers(client, monkeypatch, capsys):
    assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/ping")] == [200] * 3
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(ServedModel, "_features", lambda *_: [][1])
    assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 503]
    assert client.post("/invocations", json=GOOD).status_code == 500


@pytest.mark.parametrize(("headers", "reads"), [([(b"content-length", b"101")], 0), ([], 2)])
def test_a_body_that_is_too_large_is_not_read_beyond_the_limit(headers, reads):
    """Where it says its size, nothing of it is read."""
    pieces = iter([b"x" * 60] * 2)

    async def receive():
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    with pytest.raises(TooLargeError):
        asyncio.run(read_bounded(request, 100))
    assert len(list(pieces)) == 2 - reads


def test_a_body_that_is_too_large_is_told_so(client, monkeypatch):
    monkeypatch.setattr(server, "MAX_BODY", 100)
    for body in (b"x" * 101, iter([b"x" * 60] * 2)):
        assert client.post("/invocations", content=body).status_code == 413


def test_bodies_that_are_held_at_once_are_bounded(client, monkeypatch):
    monkeypatch.setattr(server, "MAX_HELD", 10)
    answer = client.post("/invocations", json=GOOD)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_strangers_are_refused(client):
    for host in ("evil.example", "testserver", ""):
        assert client.post("/invocations", json=GOOD, headers={"Host": host}).status_code == 400
    assert client.post("/invocations", json=GOOD, headers={"Host": "localhost:5001"}).status_code == 200


@pytest.mark.parametrize(
    ("row", "params"),
    [
        ('{"features": [NaN]}', "{}"),
        (json.dumps({"features": ["1"] * 24}), "{}"),
        (json.dumps({"features": [True] * 24}), "{}"),
        (json.dumps({"features": [0.1] * 24}), '{"top": true}'),
        (json.dumps({"features": [0.1] * 24}), '{"classes": [{"class_name": "x", "description": NaN}]}'),
        (
            json.dumps({"features": [0.1] * 24}),
            json.dumps({"classes": [{"class_name": "x", **{f"a{i}": "1" for i in range(12)}}]}),
        ),
    ],
)
def test_a_value_of_another_type_is_refused(client, row, params):
    body = f'{{"dataframe_records": [{row}], "params": {params}}}'
    assert client.post("/invocations", content=body, headers={"Content-Type": "application/json"}).status_code == 400


def test_an_exported_folder_is_served_without_its_code(model_file, tmp_path):
    from aezsl.datasets.mlflow_model import MlflowModelDataset

    MlflowModelDataset(filepath=str(tmp_path / "exported")).save(load_trained(model_file))
    for code in (tmp_path / "exported").rglob("*.py"):
        code.write_text("raise SystemExit('code of the folder was run')")
    assert find_model(tmp_path / "exported").recipe.classes.equals(load_trained(model_file).recipe.classes)
    with pytest.raises(DataError, match="nothing"):
        find_model(tmp_path / "nothing")


def ask(port, path, body=None):
    connection = HTTPConnection(HOST, port, timeout=120)
    connection.request("POST" if body else "GET", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_what_it_counted_is_kept(model_file):
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    # A worker may take as long as it likes to give a sign of life: what is dead gives none, which is known at once.
    program = "from aezsl.serving import server; server.SIGN_SECONDS = 600; from aezsl.console import main; main()"
    command = [sys.executable, "-c", program, "serve", str(model_file)]
    with subprocess.Popen(
        [*command, f"--port={port}"], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert "eszsl" in process.stdout.readline()
            assert ask(port, "/invocations", json.dumps(GOOD))[0] == 200
            assert re.search(r"aezsl_images_total 1\.0\n", ask(port, "/metrics")[1])
            children = psutil.Process(process.pid).children()
            (worker,) = (child for child in children if "spawn_main" in str(child.cmdline()))
            worker.send_signal(signal.SIGSTOP)
            time.sleep(1.2)  # by now it is waited for
            worker.send_signal(signal.SIGKILL)
            worker.wait(10)
            assert ask(port, "/invocations", json.dumps(GOOD))[0] == 200  # who comes meanwhile waits
            told = ask(port, "/metrics")[1]
            assert re.search(r"aezsl_workers_started_total 2\n", told)
            assert re.search(r"aezsl_images_total 2\.0\n", told)
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()
