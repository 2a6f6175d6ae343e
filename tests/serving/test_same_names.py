"""The same images and classes have the same names and probabilities in a run, by predict, classify, the service, an
exported model and the page: of every method, in both settings."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import aezsl
from aezsl.app.opened import OpenModel
from aezsl.data.vectors import Vectors
from aezsl.formats.image_folders import NewImages
from aezsl.methods import UNPAIRED, MethodRun, in_setting
from aezsl.pipelines.predict.nodes import classify as predict
from aezsl.reporting.names import PredictSettings
from aezsl.serving.model_file import ModelFolder, save_trained
from aezsl.serving.service import ServedModel, _load_pyfunc
from aezsl.serving.trained import TrainedModel
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.problems import make_problem, run
from tests.helpers.quick import slow_unless_quick
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic


@pytest.fixture(scope="module", params=["zsl", "gzsl"])
def problem(request):
    """Features as stores keep them, in single precision."""
    problem = make_problem(request.param, make_synthetic(n_seen=10, n_unseen=3, per_class=6))
    rows = {name: getattr(problem, name).astype(np.float32).astype(np.float64) for name in ("X_train", "X_test")}
    return replace(problem, **rows)


@pytest.fixture(scope="module", params=slow_unless_quick(UNPAIRED))
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
    """Way -> the best class of every test image, and its probability."""
    X, ids = problem.X_test, problem.test_ids
    save_trained(folder / "any" / "model.npz", trained)
    images = pd.DataFrame({"image_id": ids, "path": ids})
    new = NewImages(images, pd.DataFrame({"class_name": names}), ())
    vectors = Vectors(np.array(ids), X.astype(np.float32))
    predicted = predict(ModelFolder(folder), PredictSettings(method="any"), new, vectors, {})
    monkeypatch.setattr(TrainedModel, "encode", lambda *_, **__: lambda pictures: X[[int(one) for one in pictures]])
    labels = [line[0] for line in aezsl.classify(ids, names, trained, top=1, none=False)]
    reply = ServedModel(trained).answer({"features": X.tolist()}, {"classes": names})
    exported = _load_pyfunc(str(folder / "any")).predict(pd.DataFrame({"features": X.tolist()}), {"classes": names})
    page = OpenModel(trained).name(X, tuple((name, "") for name in names), refine=trained.model.transductive)
    return {
        "predict": (predicted["predicted"].tolist(), predicted["probability"].tolist()),
        "classify": ([line["label"] for line in labels], [line["score"] for line in labels]),
        "service": (reply["predicted"], reply["probability"]),
        "exported": (exported["predicted"].tolist(), exported["probability"].tolist()),
        "page": ([line["names"][0] for line in page], [line["probabilities"][0] for line in page]),
    }


def test_names_and_probabilities_are_those_of_the_run(catalog, problem, tmp_path, monkeypatch):
    found, name = catalog
    trained, predictions = found.load(f"{name}.model"), found.load(f"{name}.predictions")
    for way, (names, shares) in all_ways(trained, problem, problem.target_names, tmp_path, monkeypatch).items():
        assert names == predictions["predicted"].tolist(), way
        np.testing.assert_allclose(shares, predictions["probability"], rtol=1e-5, err_msg=way)
    reply = ServedModel(trained).answer({"features": problem.X_test.tolist()}, {"classes": problem.target_names})
    assert reply["none_of_these"] == predictions["none_of_these"].tolist()


def test_new_classes_are_found_beside_known_ones(catalog, problem, tmp_path, monkeypatch):
    found, name = catalog
    trained, names = found.load(f"{name}.model"), problem.seen_names + problem.unseen_names
    ways = all_ways(trained, problem, names, tmp_path, monkeypatch)
    assert len({tuple(named) for named, _ in ways.values()}) == 1
    if name.removeprefix("gzsl_") not in ("eszsl", "aezsl", "aezsl_t", "conse"):
        return  # on so small a problem others may find none
    new = np.array(problem.target_names)[problem.y_test]
    is_new = np.isin(new, problem.unseen_names)
    as_they_are = replace(trained, confidence=replace(trained.confidence, stacking=None))
    shares = []
    for model in (as_they_are, trained):
        named = model.answer(problem.X_test, model.recipe.targets(pd.DataFrame({"class_name": names}))).predicted
        shares.append((named == new)[is_new].mean())
    assert shares[1] > shares[0] or shares[1] > 0.5
    assert shares[1] > 0.2
