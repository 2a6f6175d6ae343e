"""Requests to the service, straight and as JSON through MLflow's server, and to the page: an answer or a sentence."""

import base64
import io
import json
import tempfile
from functools import cache

import numpy as np
import pandas as pd
from PIL import Image

from aezsl.serving.requests import RequestError
from aezsl.serving.service import ServedModel
from tests.campaign.damage import damaged, misspelt, pick, plain_value
from tests.campaign.models import trained

CLASSES = (
    *("", "class_name\nclass1\nclass2", ["class1", "class2"], [{"class_name": "x"}], "nonsense", [1], {}, 7, "["),
    *("class_name,a0\nx,1", ["class1"] * 2, "class_name\n" + "y" * 10**6, "class_name,id\nclass1,0\nclass2,1"),
    *("class_name;a0\nx;1", [{"class_name": "class1"}, {"class_name": "class2"}], [["class1"]], [None], "class_name\n"),
    *('["class1", "class2"]', '[{"class_name": "class1"}]', "[1, 2]", [{"class_name": "class1", "a": [1]}], True, 1.5),
)


def _rows(rng, width):
    good = lambda: rng.normal(size=width).tolist()  # noqa: E731
    values = (
        *(
            [1.0],
            1.0,
            "x",
            None,
            [None] * width,
            ["1"] * width,
            [1e400] * width,
            [],
            [float("nan")] * width,
            {},
            [[1.0] * width],
        ),
        *([1e30] * width, [1e200] * width, [1e-300] * width, [0.0] * width, [True] * width, [*good(), 1.0]),
    )
    n = int(rng.choice([0, 1, 2, 3]))
    return [good() if rng.random() < 0.7 else pick(rng, values) for _ in range(n)]


def _params(rng):
    name = "classes" if rng.random() < 0.85 else pick(rng, (misspelt("classes", rng), "klasses", "labels", ""))
    params = {name: pick(rng, CLASSES)} if rng.random() < 0.8 else {}
    if rng.random() < 0.4:
        params[pick(rng, ("top", "top", "Top", "backbone"))] = plain_value(rng)
    return params


def request(rng):
    """A table of rows with something odd in it: a finite score and a name of the right classes for every row."""
    model, data = trained("eszsl")
    column = "features" if rng.random() < 0.7 else pick(rng, ("path", "image", "fetaures", "Features", 0))
    rows = pd.DataFrame({column: pd.Series(_rows(rng, data.X.shape[1]), dtype=object)})
    if rng.random() < 0.1:
        rows["image"] = pick(rng, (b"x", None, "x"))
    if both := len(rows) > 1 and rng.random() < 0.1:  # of one row nobody would look at its image
        rows["image"] = [b"x", *[None] * (len(rows) - 1)]
    params = pick(rng, (None, [], "x", 1)) if rng.random() < 0.05 else _params(rng)
    answer = ServedModel(model).predict(rows, params)
    known = set(params or {}) <= {"classes", "top", "backbone"}
    return known and not both and len(answer) == len(rows) and bool(np.isfinite(answer["score"]).all())


@cache
def _server():
    """MLflow's own server around an exported model."""
    import mlflow.pyfunc
    from mlflow.pyfunc.scoring_server import init
    from starlette.testclient import TestClient

    from aezsl.datasets.mlflow_model import MlflowModelDataset

    folder = tempfile.mkdtemp()
    dataset = MlflowModelDataset(filepath=f"{folder}/model")
    dataset.save(trained("eszsl")[0])
    return TestClient(init(mlflow.pyfunc.load_model(f"{folder}/model")), raise_server_exceptions=False)


def served_request(rng):
    """JSON as a client posts it: 200 with finite scores, or a 4xx whose message is a sentence, without a traceback."""
    _, data = trained("eszsl")
    width = data.X.shape[1]
    records = [{"features": row} for row in _rows(rng, width)]
    match rng.integers(8):
        case 0:
            body = {
                "dataframe_records": [
                    {pick(rng, ("image", "path")): pick(rng, (_picture(rng), "x", 1, None, "/etc/passwd"))}
                ]
            }
        case 1:
            body = {"dataframe_split": {"columns": ["features"], "data": [[record["features"]] for record in records]}}
        case 2:
            body = {pick(rng, ("inputs", "instances", "dataframe", "records")): records}
        case 3:
            body = plain_value(rng)
        case _:
            body = {"dataframe_records": records}
    params = _params(rng)
    if isinstance(body, dict) and rng.random() < 0.7:
        body = {**body, "params": params}
    text = json.dumps(body, default=str).encode()
    if rng.random() < 0.1:
        text = damaged(text, rng)
    answer = _server().post("/invocations", content=text, headers={"content-type": "application/json"})
    if answer.status_code == 200:
        scores = [row["score"] for row in answer.json()["predictions"]]
        unknown = isinstance(body, dict) and set(body.get("params", {})) - {"classes", "top", "backbone"}
        return not unknown and bool(np.isfinite(scores).all())
    if answer.status_code >= 500 or "Traceback" in answer.text or "stack_trace" in answer.text:
        raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")
    raise RequestError(answer.text)


def _picture(rng):
    buffer = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(buffer, "PNG")
    content = buffer.getvalue()
    return base64.b64encode(damaged(content, rng) if rng.random() < 0.5 else content).decode()


@cache
def _page():
    from pathlib import Path

    from aezsl.app.library import Library
    from aezsl.app.server import make_app
    from aezsl.serving.trained import TrainedModel
    from tests.helpers.colours import encode, make_place, visit

    TrainedModel.encode = lambda self: encode  # a look at colours in the place of a network
    return visit(make_app(Library(make_place(Path(tempfile.mkdtemp()), ("eszsl",))))).__enter__()


QUESTIONS = ("models", "model", "scores", "why", "pool", "runs", "photo", "nothing")


def page_request(rng):
    """What the page might be asked: 200 with an answer, or a 4xx with a sentence."""
    about = {"model": pick(rng, ("colours/eszsl", "colours/eszsl", "../x", "", 1, None))}
    for name in ("photos", "classes", "top", "photo", "text", "pool"):
        if rng.random() < 0.4:
            about[name] = pick(
                rng, (["x"], [["a", "b"]], [["red", "a red thing"], ["blue", "a blue one"]], plain_value(rng))
            )
    if rng.random() < 0.2:
        answer = _page().post(
            f"/api/photo?model={pick(rng, ('colours/eszsl', '..', ''))}", content=base64.b64decode(_picture(rng))
        )
    else:
        content = json.dumps(about, default=str).encode()
        content = damaged(content, rng) if rng.random() < 0.1 else content
        answer = _page().post(f"/api/{pick(rng, QUESTIONS)}", content=content)
    if answer.status_code == 200:
        return isinstance(answer.json(), dict | list)
    if answer.status_code >= 500 or "Traceback" in answer.text:
        raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")
    raise RequestError(answer.text)
