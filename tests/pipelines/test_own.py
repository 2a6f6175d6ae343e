"""The walk through one's own images in a README, word for word: train, name new images, export, serve."""

import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aezsl.errors import DataError
from tests.helpers import ROOT
from tests.helpers.projects import environment

README = (ROOT / "src/aezsl/serving/README.md").read_text(encoding="utf-8")


def blocks(text):
    return re.findall(r"^```bash\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


*COMMANDS, SERVE = blocks(README.partition("<!-- example: own images -->")[2].partition("<!-- end of example -->")[0])
REQUEST = json.loads(re.search(r"-d '(.*?)'", README.partition("<!-- end of example -->")[2], re.DOTALL)[1])


def shell():
    """The variables of a shell in which the project is installed: its commands are on the path."""
    return environment(PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="module")
def project(make_project):
    project = make_project(from_nothing=True)
    for command in COMMANDS:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=project.folder,
            env=shell(),
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return project


def right(predictions, alias=None):
    """Share of rows whose file name starts with the predicted class."""
    alias = alias or {}
    return np.mean(
        [
            Path(row.image_id).name.startswith(alias.get(row.predicted, row.predicted))
            for row in predictions.itertuples()
        ]
    )


def test_classes_without_a_single_image_are_recognised(project):
    predictions = pd.read_parquet(project.folder / "data/07_model_output/own/aezsl/predictions.parquet")
    assert len(predictions) == 15
    assert set(predictions["predicted"]) <= {"tiger", "lemon", "minibus"}
    assert predictions["true"].isna().all()
    assert right(predictions) == 1
    assert json.loads((project.folder / "data/08_reporting/own/aezsl/metrics.json").read_text()) == {}
    assert (project.folder / "data/08_reporting/own/aezsl/gallery.png").stat().st_size > 10_000


def test_new_images_get_names_that_training_has_never_heard(project):
    predictions = pd.read_parquet(project.folder / "data/07_model_output/own/aezsl/new_predictions.parquet")
    assert len(predictions) == 12
    assert right(predictions, {"fire engine": "fire_engine"}) == 1
    assert {"top_3", "top_3_probability"} <= set(predictions.columns)
    assert "top_4" not in predictions
    assert (project.folder / "data/08_reporting/own/aezsl/new_gallery.png").stat().st_size > 10_000


def test_the_exported_model_answers_in_python_as_the_pipeline_did(project, monkeypatch):
    import mlflow.pyfunc

    folder = project.folder / "data/06_models/own/aezsl/mlflow_model"
    model = mlflow.pyfunc.load_model(str(folder))
    assert model.metadata.signature is not None
    assert len(model.predict(model.input_example)) == 2
    expected = pd.read_parquet(project.folder / "data/07_model_output/own/aezsl/new_predictions.parquet")
    table = (project.folder / "data/01_raw/new_images/classes.csv").read_text()
    monkeypatch.setenv("AEZSL_IMAGE_FOLDER", str(project.folder / "data/01_raw/new_images"))
    by_path = model.predict(expected[["path"]], params={"classes": table})
    assert by_path["predicted"].tolist() == expected["predicted"].tolist()
    np.testing.assert_allclose(by_path["score"], expected["score"], rtol=1e-4, atol=1e-5)
    content = pd.DataFrame({"image": [Path(path).read_bytes() for path in expected["path"]]})
    assert model.predict(content, params={"classes": table})["predicted"].tolist() == expected["predicted"].tolist()
    assert not [file for file in folder.rglob("*") if file.suffix in (".pkl", ".pickle", ".joblib")]
    assert (project.folder / "mlflow.db").exists()
    assert list(project.folder.glob("mlruns/*/*/artifacts/mlflow_model/MLmodel"))


def test_the_model_file_answers_in_python_as_the_readme_says(project, monkeypatch):
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(project.folder)
    names = {"features": np.zeros((1, 2560))}  # two networks of 1,280 each
    exec(code, names)
    assert names["targets"].names == ["tiger", "lemon", "minibus"]
    assert names["answers"].predicted[0] in names["targets"].names
    with pytest.raises(DataError, match="2560"):
        exec(code, {"features": np.zeros((1, 1280))})


@pytest.fixture(scope="module")
def server(project):
    """The address of the model, served as the README says but on a free port."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    except OSError as error:
        pytest.skip(f"no port can be bound here: {error}")
    command = ["bash", "-c", f"exec {SERVE.replace('5001', str(port))}"]
    log = (project.folder / "serve.log").open("w")
    process = subprocess.Popen(command, cwd=project.folder, env=shell(), stdout=log, stderr=log, start_new_session=True)
    try:
        for _ in range(300):
            assert process.poll() is None, (project.folder / "serve.log").read_text()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5)
                break
            except OSError:
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # the workers too: this group is ours alone
        process.wait(60)


def ask(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)["predictions"]


def test_the_served_model_names_the_readmes_image(server):
    (answer,) = ask(server, REQUEST)
    assert answer["predicted"] == "melon"
    assert answer["top"] == ["melon", "van"]
    assert answer["top_scores"] == sorted(answer["top_scores"], reverse=True)


def test_the_served_model_takes_image_content_and_features(server, project):
    content = (project.folder / "data/01_raw/new_images/melon-0.png").read_bytes()
    body = {"dataframe_records": [{"image": base64.b64encode(content).decode()}], "params": REQUEST["params"]}
    assert ask(server, body)[0]["predicted"] == "melon"
    listed = [
        {"class_name": "melon", "description": "a round green fruit"},
        {"class_name": "van", "description": "a car"},
    ]
    assert ask(server, {**body, "params": {"classes": listed}})[0]["predicted"] == "melon"
    example = json.loads(
        (project.folder / "data/06_models/own/aezsl/mlflow_model/serving_input_example.json").read_text()
    )
    answers = ask(server, example)
    assert len(answers) == 2
    assert {answer["predicted"] for answer in answers} <= {"tiger", "lemon", "minibus"}  # the unseen ones of training


def test_the_served_model_says_what_is_wrong_with_a_request(server):
    for body, sentence in (
        ({**REQUEST, "params": {"klasses": ["lemon"]}}, "unknown parameter 'klasses' of the request: did you mean"),
        ({"dataframe_records": [{"path": "/dev/zero"}]}, "row 0: path must name an image file below the folder"),
        ({"dataframe_records": [{"features": [1.0]}]}, "row 0: features must be 2560 finite numbers"),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(server, body)
        answer = json.loads(caught.value.read())
        assert caught.value.code == 400
        assert answer["message"].startswith(sentence)
        assert "stack_trace" not in answer


def test_eight_clients_of_the_service_get_the_answers_of_one(server, project):
    """Each asks about classes of its own: nobody may be answered with another one's."""
    file = project.folder / "data/06_models/own/aezsl/mlflow_model/serving_input_example.json"
    example = json.loads(file.read_text())
    names = ("tiger", "lemon", "minibus")
    bodies = [
        {**example, "params": {"classes": "class_name\n" + "\n".join(chosen), "top": 3}}
        for chosen in (names, names[::-1], names[:2], names[1:])
    ]
    expected = [ask(server, body) for body in bodies]
    assert len({json.dumps(answer) for answer in expected}) > 1
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda i: ask(server, bodies[i % 4]), range(80)))
    assert answers == [expected[i % 4] for i in range(80)]
