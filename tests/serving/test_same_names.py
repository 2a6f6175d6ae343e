"""The same images and classes have the same names in a run, by predict, classify, the service and the page."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import aezsl
from aezsl.app.opened import OpenModel
from aezsl.data.vectors import Vectors
from aezsl.formats.image_folders import NewImages
from aezsl.methods import MethodRun, in_setting
from aezsl.pipeline_registry import create_method_pipeline
from aezsl.pipelines.predict.nodes import classify as predict
from aezsl.reporting.names import PredictSettings
from aezsl.serving.model_file import ModelFolder, save_trained
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.problems import make_problem, run
from tests.helpers.recipes import make_recipe

METHODS = ["eszsl", "aezsl", "aezsl_t", "conse"]


@pytest.fixture(scope="module", params=["zsl", "gzsl"])
def problem(request):
    """Features as stores keep them, in single precision."""
    problem = make_problem(request.param)
    rows = {name: getattr(problem, name).astype(np.float32).astype(np.float64) for name in ("X_train", "X_test")}
    return replace(problem, **rows)


@pytest.fixture(scope="module", params=METHODS)
def catalog(request, problem):
    """A run of the method, with a model whose classes are those of the problem."""
    names = problem.seen_names + problem.unseen_names
    roles = ["seen"] * len(problem.seen_names) + ["unseen"] * len(problem.unseen_names)
    recipe, _ = make_recipe(
        classes=pd.DataFrame({"class_name": names, "role": roles}),
        class_vectors=np.vstack([problem.S_seen, problem.S_unseen]),
    )
    method = MethodRun(request.param, problem.setting)
    methods = [method.method, *([method.base.method] if method.base else [])]
    pipeline = create_method_pipeline(method.method, method.setting)
    found = run(pipeline, problem, methods, in_setting("", problem.setting), recipe=recipe)
    return found, method.name


def all_ways(trained, problem, names, folder, monkeypatch):
    """Way -> the best class of every test image."""
    X, ids = problem.X_test, problem.test_ids
    save_trained(folder / "any" / "model.npz", trained)
    images = pd.DataFrame({"image_id": ids, "path": ids})
    new = NewImages(images, pd.DataFrame({"class_name": names}), ())
    vectors = Vectors(np.array(ids), X.astype(np.float32))
    predicted = predict(ModelFolder(folder), PredictSettings(method="any"), new, vectors, {})["predicted"].tolist()
    monkeypatch.setattr(TrainedModel, "encode", lambda *_, **__: lambda pictures: X[[int(one) for one in pictures]])
    labels = aezsl.classify(ids, names, trained, top=1, none=False)
    reply = ServedModel(trained).answer({"features": X.tolist()}, {"classes": names})
    page = OpenModel(trained).name(X, tuple((name, "") for name in names), refine=trained.model.transductive)
    return {
        "predict": predicted,
        "classify": [line[0]["label"] for line in labels],
        "service": reply["predicted"],
        "page": [line["names"][0] for line in page],
    }


def test_names_are_those_of_the_run(catalog, problem, tmp_path, monkeypatch):
    found, name = catalog
    trained, predictions = found.load(f"{name}.model"), found.load(f"{name}.predictions")
    expected = predictions["predicted"].tolist()
    assert all_ways(trained, problem, problem.target_names, tmp_path, monkeypatch) == dict.fromkeys(
        ("predict", "classify", "service", "page"), expected
    )
    reply = ServedModel(trained).answer({"features": problem.X_test.tolist()}, {"classes": problem.target_names})
    np.testing.assert_allclose(reply["probability"], predictions["probability"], rtol=1e-6)
    assert reply["none_of_these"] == predictions["none_of_these"].tolist()


def test_new_classes_are_found_beside_known_ones(catalog, problem, tmp_path, monkeypatch):
    found, name = catalog
    trained, names = found.load(f"{name}.model"), problem.seen_names + problem.unseen_names
    ways = all_ways(trained, problem, names, tmp_path, monkeypatch)
    assert len({tuple(named) for named in ways.values()}) == 1
    new = np.array(problem.target_names)[problem.y_test]
    is_new = np.isin(new, problem.unseen_names)
    as_they_are = replace(trained, confidence=replace(trained.confidence, stacking=None))
    shares = []
    for model in (as_they_are, trained):
        named = model.answer(problem.X_test, model.recipe.targets(pd.DataFrame({"class_name": names}))).predicted
        shares.append((named == new)[is_new].mean())
    assert shares[1] > shares[0] or shares[1] > 0.5
    assert shares[1] > 0.2
