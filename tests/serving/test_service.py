"""The service: many clients at once, each with classes of its own."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aezsl.datasets.mlflow_model import MlflowModelDataset
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.encoder import ImageEncoder
from aezsl.encoders.recipe import Recipe
from aezsl.methods import make_method
from aezsl.serving.requests import RequestError, image_content, read_features
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe


def table(vectors, names):
    """A table of classes as a request holds it."""
    frame = pd.DataFrame(vectors, columns=[f"a{i}" for i in range(vectors.shape[1])])
    return frame.assign(class_name=names).to_csv(index=False)


@pytest.mark.parametrize("name", ["aezsl", "aezsl_lr", "aezsl_t", "exem"])
def test_eight_clients_get_the_answers_of_one(name):
    recipe, data = make_recipe()
    model = make_method(name).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    served = ServedModel(TrainedModel(model, recipe))
    rng = np.random.default_rng(0)
    requests = []
    for client in range(8):
        classes = rng.permutation(len(data.S_new))[:4]
        rows = pd.DataFrame({"features": data.X_new[rng.permutation(len(data.X_new))[:20]].tolist()})
        requests.append((rows, {"classes": table(data.S_new[classes], [f"{client}-{c}" for c in classes])}))
    expected = [served.predict(*request) for request in requests]
    for client, answer in enumerate(expected):
        assert answer["predicted"].str.startswith(f"{client}-").all()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: served.predict(*requests[i % 8]), range(32)))
    for i, answer in enumerate(answers):
        assert answer["top"].tolist() == expected[i % 8]["top"].tolist()
        np.testing.assert_allclose(answer["score"], expected[i % 8]["score"], rtol=1e-6, atol=1e-9)


def counted(adapt, calls):
    return lambda *given, **more: calls.append(1) or adapt(*given, **more)


def test_classes_are_adapted_to_once_and_those_of_training_before_the_first_request(monkeypatch):
    recipe, data = make_recipe()
    for name, pooled in (("aezsl", 0), ("eszsl_t", 1)):  # what learns from the rows of a request adapts to each
        model = make_method(name).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
        served = ServedModel(TrainedModel(model, recipe))
        served.warm_up()
        adapted = []
        with monkeypatch.context() as patch:
            patch.setattr(type(model), "adapt", counted(type(model).adapt, adapted))
            rows = pd.DataFrame({"features": data.X_new[:5].tolist()})
            for params, cost in ((None, 0), ({"classes": ["class0", "class1"]}, 1 - pooled), (None, 0)):
                before = len(adapted)
                answer = served.predict(rows, params)
                assert len(adapted) - before == cost + pooled
        expected = TrainedModel(model, recipe).answer(data.X_new[:5], recipe.targets())
        assert answer["score"].tolist() == expected.scores[:, 0].tolist()


@pytest.fixture(scope="module")
def served():
    recipe, data = make_recipe()
    model = make_method("eszsl").fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    return ServedModel(TrainedModel(model, recipe)), data


def rows(*values, column="features"):
    return pd.DataFrame({column: list(values)})


GOOD = [0.1] * 24


@pytest.mark.parametrize(
    ("request_rows", "params", "sentence"),
    [
        (
            rows(GOOD),
            {"klasses": "class_name\nx"},
            "unknown parameter 'klasses' of the request: did you mean 'classes'?",
        ),
        (rows(GOOD), {"Top": 3}, "did you mean 'top'?"),
        (rows(GOOD), {"zzz": 3}, "expected classes, top, backbone"),
        (rows(GOOD), {"top": 0}, "top must be a whole number from 1 to"),
        (rows(GOOD), {"top": True}, "top must be a whole number"),
        (rows(GOOD), {"top": "3"}, "top must be a whole number"),
        (rows(GOOD), {"multi": "yes"}, "multi must be true or false, got 'yes'"),
        (rows(GOOD), {"multi": True}, "cannot say yes or no to every label"),
        (rows(GOOD), {"classes": 5}, "classes must be a table as text, or a list, got int"),
        (rows(GOOD), {"classes": "[1"}, "begin like JSON and are not"),
        (rows(GOOD), {"classes": [{"class_name": "a"}, {"name": "b"}]}, "classes[1] must be a name, or an object"),
        (rows(GOOD), {"classes": [["a"]]}, "classes[0] must be a name"),
        (rows(GOOD), {"classes": ["unicorn"]}, "class 'unicorn' was not in training"),
        (rows(GOOD), {"classes": ["class1", "class1"]}, "class1 (1 in all) more than once"),
        (rows(GOOD), {"classes": "class_name\n" + "x" * 1_000_001}, "may have 1000000 characters"),
        (rows(GOOD), {"classes": "class_name" + ",a" * 6000}, "may have 5000 columns, got 6001"),
        (rows(GOOD), {"classes": [f"c{i}" for i in range(2001)]}, "may have 2000 classes, got 2001"),
        (rows(GOOD), {"classes": "class_name\n" + "\n".join(f"c{i}" for i in range(2001))}, "may have 2000 classes"),
        (rows(GOOD), {"classes": [{"class_name": "a", "description": "x" * 5001}]}, "may have 5000 characters"),
        (rows(GOOD), {"backbone": "vgg19"}, "trained on features of resnet18, not of vgg19"),
        (rows([1.0]), {}, "row 0: features must be 24 finite numbers, got shape (1,)"),
        (rows(GOOD, 1.0), {}, "row 1: features must be 24 finite numbers"),
        (rows(GOOD, ["x"] * 24), {}, "row 1: features must be 24 finite numbers"),
        (rows([float("nan")] * 24), {}, "row 0: features must be 24 finite numbers"),
        (rows(*[GOOD] * 1001), {}, "may have 1000 rows, got 1001"),
        (rows(), {}, "needs rows"),
        (pd.DataFrame({"imge": [1]}), {}, "unknown column 'imge' of the request: did you mean 'image'?"),
        (pd.DataFrame({"image": [b"x", None]}), {}, "exactly one of the columns features, image, path"),
        (
            pd.DataFrame({"features": [GOOD, GOOD], "image": [b"x", None]}),
            {},
            "exactly one of the columns features, image, path, the same for all; got features and image in some rows",
        ),
        (rows("/etc/passwd", column="path"), {}, "this service reads no files"),
        (rows("text", column="image"), {}, "row 0: image must be the content of an image file"),
        (rows(b"x" * (33 * 2**20), column="image"), {}, "an image may have 33554432 bytes"),
    ],
)
def test_a_wrong_request_is_refused_in_one_sentence(served, request_rows, params, sentence):
    with pytest.raises(RequestError) as caught:
        served[0].predict(request_rows, params)
    caught.value.message = "what MLflow puts before it"
    answer = json.loads(caught.value.serialize_as_json())
    assert "stack_trace" not in answer
    assert sentence in answer["message"]
    assert "\n" not in answer["message"]
    assert caught.value.get_http_status_code() == 400


def test_classes_come_as_a_text_or_as_a_list(served):
    model, data = served
    request = rows(*data.X_new[:5].tolist())
    names = ["class1", "class33", "class7"]
    by_text = model.predict(request, {"classes": "class_name\n" + "\n".join(names)})
    for classes in (names, json.dumps(names), [{"class_name": name} for name in names], np.array(names)):
        pd.testing.assert_frame_equal(model.predict(request, {"classes": classes}), by_text)
    vectors = [{f"a{i}": float(v) for i, v in enumerate(row)} for row in data.S_new[:3]]
    described = model.predict(
        request, {"classes": [{"class_name": n, **v} for n, v in zip("xyz", vectors, strict=True)]}
    )
    expected = model.predict(request, {"classes": table(data.S_new[:3], list("xyz"))})
    assert described["top"].tolist() == expected["top"].tolist()


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A folder of images that a service may read, and a backbone that looks at colours."""
    (tmp_path / "shown").mkdir()
    for path in ("shown/a.png", "hidden.png"):
        Image.new("RGB", (8, 8), "red").save(tmp_path / path)
    (tmp_path / "shown/link.png").symlink_to(tmp_path / "hidden.png")
    os.mkfifo(tmp_path / "shown/pipe.png")
    (tmp_path / "shown/text.png").write_text("text")
    engine = (lambda image: np.asarray(image, np.float32), lambda batch: np.ones((len(batch), 24), np.float32))
    encoder = ImageEncoder((Backbone({}, lambda: engine),))
    monkeypatch.setattr(Recipe, "make_encoder", lambda *_: encoder)
    monkeypatch.setenv("AEZSL_IMAGE_FOLDER", str(tmp_path / "shown"))
    recipe, data = make_recipe()
    model = make_method("eszsl").fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    return ServedModel(TrainedModel(model, recipe)), tmp_path


def test_an_image_is_prepared_once_and_nothing_else_is(pictures, monkeypatch):
    model, _ = pictures
    prepared = []
    engine = (
        lambda image: prepared.append(image.size) or np.zeros((3, 8, 8), np.float32),
        lambda batch: np.ones((len(batch), 24), np.float32),
    )
    encoder = ImageEncoder((Backbone({}, lambda: engine),))
    monkeypatch.setattr(Recipe, "make_encoder", lambda *_: encoder)
    model.warm_up()
    prepared.clear()
    model.predict(rows("a.png", "a.png", column="path"))
    assert prepared == [(8, 8)] * 2


def test_paths_lead_to_the_named_folder_only(pictures):
    model, folder = pictures
    for path in ("a.png", str(folder / "shown/a.png")):
        assert len(model.predict(rows(path, column="path"))) == 1
    assert len(model.predict(rows((folder / "hidden.png").read_bytes(), column="image"))) == 1
    for path in ("../hidden.png", "/etc/passwd", "/dev/zero", "link.png", "/none", "\0"):
        with pytest.raises(RequestError, match=r"row 0: .* below the folder that AEZSL_IMAGE_FOLDER names"):
            model.predict(rows(path, column="path"))
    for path, reason in (("pipe.png", "not a regular file"), ("none.png", "No such file"), (".", "below the folder")):
        with pytest.raises(RequestError, match=rf"row 1: .*'{path}' .*{reason}") as caught:
            model.predict(rows("a.png", path, column="path"))
        assert str(folder) not in caught.value.message
    with pytest.raises(RequestError, match="row 1: the image cannot be read as an image"):
        model.predict(rows("a.png", "text.png", column="path"))


@pytest.mark.slow
def test_mlflow_drops_no_parameter(served, tmp_path):
    """It would drop unknown ones with a word in its own log, and refuse a list of classes."""
    model, _ = served
    dataset = MlflowModelDataset(filepath=str(tmp_path / "model"))
    dataset.save(model.trained)
    requirements = (tmp_path / "model/requirements.txt").read_text()
    assert "torch==" in requirements
    assert "\ntransformers==" in requirements  # another version may prepare images otherwise
    assert "+" not in requirements
    loaded = dataset.load()
    with pytest.raises(RequestError, match="did you mean 'classes'"):
        loaded.predict(loaded.input_example, params={"klasses": ["class1"]})
    answer = loaded.predict(loaded.input_example, params={"classes": ["class1", "class33"], "top": 2})
    assert [sorted(names) for names in answer["top"]] == [["class1", "class33"]] * 2
    for params, sentence in (
        ({"top": "many"}, "top must be a whole number from 1 to 2000, got 'many'"),
        ({"classes": {"a": ["b"]}}, r"classes\[0\] must be a name, .*"),
        ([1], "params must be an object of classes, top, backbone, multi, got list"),
    ):
        with pytest.raises(RequestError, match=f"^{sentence}$"):
            loaded.predict(loaded.input_example, params=params)
    more = loaded.input_example.assign(fetaures=1)
    for data, sentence in (
        (more, "unknown column 'fetaures' of the request: did you mean 'features'?"),
        (pd.DataFrame({"features": ["x"]}), "all rows must have one of the columns features, image, path: "),
        ([[1.0]], "a request needs rows with one of the columns features, image, path, got none"),
    ):
        with pytest.raises(RequestError, match=f"^{re.escape(sentence)}"):
            loaded.predict(data)


def test_other_models_are_asked_as_ever(tmp_path):
    """MLflow's own way with parameters is left to models that are not of this project."""
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    from aezsl.serving.service import read_requests_first

    class Other(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return [params] * len(model_input)

    read_requests_first("aezsl.serving.service")
    schema = ParamSchema([ParamSpec("top", DataType.long, 5)])
    mlflow.pyfunc.save_model(
        tmp_path / "other",
        python_model=Other(),
        pip_requirements=[],
        signature=ModelSignature(Schema([ColSpec(DataType.long, "a")]), Schema([ColSpec(DataType.string)]), schema),
    )
    assert mlflow.pyfunc.load_model(str(tmp_path / "other")).predict(pd.DataFrame({"a": [1]}), {"klasses": 1}) == [
        {"top": 5}
    ]


def test_what_requests_need_is_loaded_before_the_first(pictures, caplog):
    model, _ = pictures
    model.warm_up()
    assert model._encode.cache_info().currsize == 1
    assert not caplog.messages


@pytest.mark.parametrize("value", [["1", 2.0], [True, 2.0], "ab", [[1.0], [2.0]], [float("nan"), 1.0]])
def test_features_are_numbers_and_nothing_else(value):
    with pytest.raises(RequestError, match="row 0"):
        read_features([value], 2)


def test_a_link_to_an_archive_elsewhere_is_not_followed(tmp_path, monkeypatch):
    outside, folder = tmp_path / "secret", tmp_path / "images"
    outside.write_bytes(b"secret")
    folder.mkdir()
    (folder / "link.png").symlink_to(outside)
    monkeypatch.setenv("AEZSL_IMAGE_FOLDER", str(folder))
    for path in ("link.png", "link.png::0+6::x"):
        with pytest.raises(RequestError, match="row 0"):
            image_content(0, path, "path")
