"""MLflow's own server around a model of the project: whatever is sent, the answer is names or one sentence."""

import json
import logging

import pytest
from mlflow.pyfunc import scoring_server
from starlette.testclient import TestClient

from aezsl.datasets.mlflow_model import MlflowModelDataset
from aezsl.methods import make_method
from aezsl.serving import requests
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    recipe, data = make_recipe()
    fitted = make_method("eszsl").fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    dataset = MlflowModelDataset(filepath=str(tmp_path_factory.mktemp("served") / "model"))
    dataset.save(TrainedModel(fitted, recipe))
    return dataset.load()


@pytest.fixture(scope="module")
def server(model):
    return TestClient(scoring_server.init(model))


@pytest.fixture(scope="module")
def features(model):
    return [list(map(float, row)) for row in model.input_example["features"]]


def test_rows_come_in_any_form_that_mlflow_knows(server, model, features):
    expected = model.predict(model.input_example)["predicted"].tolist()
    records = [{"features": row} for row in features]
    for rows in (
        {"dataframe_records": records},
        {"dataframe_split": {"columns": ["features"], "data": [[row] for row in features]}},
        {"inputs": records},
        {"inputs": {"features": features}},
    ):
        answer = server.post("/invocations", json=rows)
        assert answer.status_code == 200, answer.text
        assert [row["predicted"] for row in answer.json()["predictions"]] == expected
    asked = {"dataframe_records": records, "params": {"classes": ["class1", "class33"], "top": 1}}
    (first, _) = server.post("/invocations", json=asked).json()["predictions"]
    assert first["top"] == [first["predicted"]]


GOOD = json.dumps({"dataframe_records": [{"features": [0.1] * 24}]})


@pytest.mark.parametrize(
    ("body", "headers", "sentence"),
    [
        (b"{", JSON, "the request is not valid JSON (Expecting property name"),
        (b"\xff\xfe\x00", JSON, "the request is not valid JSON ("),
        (b"[" * 100_000, JSON, "the request is not valid JSON ("),
        (b"[1]", JSON, "a request must be an object with dataframe_records, got list"),
        (b"{}", JSON, "a request must have exactly one of dataframe_records, dataframe_split, inputs, instances"),
        (b'{"dataframe_record": []}', JSON, "unknown entry 'dataframe_record' of the request: did you mean"),
        (b'{"messages": [], "input": "x"}', JSON, "unknown entry 'messages' of the request"),
        (b'{"inputs": [], "instances": []}', JSON, "exactly one of"),
        (b'{"dataframe_records": 5}', JSON, "all rows must have one of the columns features, image, path: "),
        (
            b'{"dataframe_records": [1, 2]}',
            JSON,
            "one of the columns features, image, path: every row must be an object",
        ),
        (
            b'{"dataframe_split": {"colums": []}}',
            JSON,
            "of dataframe_split 'colums' of the request: did you mean 'columns'?",
        ),
        (
            b'{"dataframe_split": {"columns": ["path", "path"], "data": [["a", "b"]]}}',
            JSON,
            "a value for each of the col",
        ),
        (b'{"dataframe_split": {"columns": ["path"], "data": [["a", "b"]]}}', JSON, "a value for each of the columns"),
        (b'{"inputs": {"path": "a.png"}}', JSON, "every column must be a list"),
        (b'{"inputs": {"path": ["a"], "image": ["b", "c"]}}', JSON, "the columns must be of one length"),
        (
            b'{"dataframe_records": [{"path": "a"}, {}]}',
            JSON,
            "exactly one of the columns features, image, path, the same",
        ),
        (b'{"dataframe_records": [{"image": "abc"}]}', JSON, "row 0: image must be the content of an image file"),
        (b'{"dataframe_records": [{"image": 5}]}', JSON, "row 0: image must be the content of an image file"),
        (b'{"dataframe_records": []}', JSON, "needs rows"),
        (b'{"inputs": "x"}', JSON, "rows"),
        (json.dumps({"dataframe_records": [{}] * 1001}).encode(), JSON, "may have 1000 rows, got 1001"),
        (json.dumps({"dataframe_split": {"data": [[]] * 1001}}).encode(), JSON, "may have 1000 rows, got 1001"),
        (GOOD.encode(), {"Content-Type": "application/x-parquet"}, "must be application/json, got application/x-par"),
        (b"path\na.png", {"Content-Type": "text/csv"}, "must be application/json, got text/csv"),
        (GOOD.encode(), {}, "the content type must be application/json, got none"),
    ],
)
def test_what_is_no_request_is_refused_in_one_sentence(server, body, headers, sentence):
    answer = server.post("/invocations", content=body, headers=headers)
    assert answer.status_code == 400, answer.text
    said = answer.json()
    assert "stack_trace" not in said
    assert sentence in said["message"]
    assert "\n" not in said["message"]
    assert len(said["message"]) < 400


def test_a_request_is_bounded_as_a_whole(server, monkeypatch):
    monkeypatch.setattr(requests, "MAX_BODY", 100)
    answer = server.post("/invocations", content=GOOD, headers=JSON)
    assert answer.json()["message"] == f"a request may have 100 bytes, got {len(GOOD)}: ask in several requests"


def test_an_error_of_the_service_is_for_its_log(server, monkeypatch, caplog):
    monkeypatch.setattr(ServedModel, "_features", lambda *_: [][1])
    with caplog.at_level(logging.ERROR):
        answer = server.post("/invocations", content=GOOD, headers=JSON)
    assert answer.json()["message"] == "the request cannot be answered (IndexError); see the service's log"
    assert "IndexError" in caplog.text


def test_other_models_are_answered_as_ever(tmp_path, model):
    import mlflow.pyfunc

    class Other(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return [len(model_input)]

    mlflow.pyfunc.save_model(tmp_path / "other", python_model=Other(), pip_requirements=[])
    server = TestClient(scoring_server.init(mlflow.pyfunc.load_model(str(tmp_path / "other"))))
    assert server.post("/invocations", json={"inputs": [1, 2]}).json() == {"predictions": [2]}
    refused = server.post("/invocations", content=b"{", headers=JSON)
    assert "Ensure that input is a valid JSON" in refused.json()["message"]
