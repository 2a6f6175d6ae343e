"""Model files that were changed, as a stranger or a defect may leave them: refused by name, nothing of them is run."""

import io
import json
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from aezsl.data.normalise import fit_normaliser
from aezsl.errors import DataError
from aezsl.evaluation.confidence import Confidence, Stacking
from aezsl.evaluation.expectation import Expectation
from aezsl.methods import METHODS, make_method
from aezsl.serving.classes import find_classes
from aezsl.serving.model_file import load_classifier, load_trained, save_classifier, save_trained
from aezsl.serving.trained import TrainedModel
from tests.campaign import models
from tests.campaign.outcome import Tally
from tests.helpers.recipes import make_recipe

#: What names of arrays begin with.
ARRAYS = ("model.", "recipe.", "classifier.")


@pytest.fixture(scope="module")
def trained():
    recipe, data = make_recipe()
    return TrainedModel(make_method("eszsl").fit(recipe.features(data.X), data.y, recipe.semantics(data.S)), recipe)


def changed(path, change, consistent=True):
    """Rewrite a file after ``change(header, arrays)``; consistent: its list of arrays follows the change."""
    with np.load(path) as file:
        header, arrays = json.loads(str(file["header"])), {key: file[key] for key in file.files if key != "header"}
    change(header, arrays)
    if consistent:
        header["arrays"] = {
            name: f"{a.dtype.str} of shape {'x'.join(map(str, a.shape)) or 'one'}" for name, a in arrays.items()
        }
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


def put(place, value):
    """A change of one array, or of one entry of the header (``a/b/c``)."""

    def change(header, arrays):
        if place.startswith(ARRAYS):
            arrays[place] = value(arrays[place]) if callable(value) else value
            return
        *folders, name = place.split("/")
        for folder in folders:
            header = header[folder]
        header[name] = value(header[name]) if callable(value) else value

    return change


def npy_header(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def drop(place):
    def change(header, arrays):
        *folders, name = place.split("/")
        for folder in folders:
            header = header[folder]
        del (arrays if place.startswith(ARRAYS) else header)[name]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop("model.W_"), "W_"),
        (put("model.W_", lambda a: a[:-1]), ""),
        (put("model.W_", lambda a: a * np.nan), "W_ must hold finite numbers"),
        (put("model.W_", lambda a: a.astype(complex)), "W_ must hold finite numbers"),
        (put("model.W_", lambda a: a[..., None]), ""),
        (put("model.predict", np.zeros(3)), "no fitted value 'predict'"),
        (put("model._adapt", np.zeros(3)), "no fitted value '_adapt'"),
        (put("model.__class__", np.zeros(3)), "no fitted value '__class__'"),
        (put("model.../../slip", np.zeros(3)), "no fitted value"),
        (put("scalars/fit", 3), "no fitted value 'fit'"),
        (put("scalars/n_features_in_", 7), "should take 24 features"),
        (put("scalars/n_features_in_", float("nan")), "n_features_in_ must be a finite number"),
        (drop("scalars/n_features_in_"), "should take 24 features"),
        (put("method", "sys"), "unknown method 'sys'"),
        (put("method", 3), "unknown method 3"),
        (put("parameters/lam", [1]), "lam of ESZSL"),
        (put("parameters/lam", [float("nan")]), "lam must be a finite number"),
        (put("scalars/n_features_in_", [24]), "n_features_in_ must be a finite number"),
        (put("parameters/lamb", 1), "no parameter lamb"),
        (put("parameters", []), ""),
        (put("recipe/steps/features", ["standardise", "halve"]), "unknown normalisation step 'halve'"),
        (put("recipe/steps/features", ["l2"]), "needs the statistics"),
        (drop("recipe.features_0_mean"), "needs the statistics"),
        (put("recipe.features_0_scale", lambda a: a * 0), "scales positive"),
        (put("recipe.features_0_mean", lambda a: a[:1]), "24 finite numbers"),
        (put("recipe.semantics_0_mean", lambda a: a * np.inf), "10 finite numbers"),
        (put("recipe.class_vectors", lambda a: a[:-1]), "class vectors"),
        (put("recipe.class_vectors", lambda a: a * np.nan), "class_vectors"),
        (put("recipe.example", lambda a: a[0]), "example"),
        (put("recipe/classes", {"class_name": ["x"]}), "class_name and role"),
        (put("recipe/classes/role", lambda roles: ["new" for _ in roles]), "role"),
        (put("recipe/classes/class_name", lambda names: ["same" for _ in names]), "name of its own"),
        (put("recipe/sources", [{"kind": "smell"}]), "kind of"),
        (put("recipe/sources", [{"kind": "text", "bogus": 1}]), "bogus"),
        (put("recipe/sources", [{"kind": "text", "templates": "/etc/passwd"}]), "without saying which content"),
        (put("recipe/sources", [{"kind": "text", "descriptions": "/etc/passwd"}]), "without saying which content"),
        (put("recipe/sources", [{"kind": "text", "encoder": "/etc"}]), "without saying which content"),
        (put("recipe/sources", [{"kind": "word_vectors", "path": "/etc/passwd"}]), "without saying which content"),
        (put("recipe/sources", [{"kind": "wordnet"}]), "without saying which content"),
        (put("recipe/backbone/parts", [{"backbone": "resnet18", "weights": 5, "layer": None}]), "weights"),
        (put("recipe/backbone", {}), "fingerprint"),
        (drop("recipe/backbone"), "backbone"),
        (put("recipe/attribute_names", [1]), "list of names"),
        (put("recipe", None), ""),
    ],
)
def test_contents_that_do_not_fit_are_refused(tmp_path, trained, change, reason):
    path = tmp_path / "model.npz"
    save_trained(path, trained)
    changed(path, change)
    with pytest.raises(DataError, match=r"model\.npz is not a trained model saved by this project") as caught:
        load_trained(path)
    assert reason in str(caught.value)
    assert "make it again" in str(caught.value)


@pytest.mark.parametrize(
    "change", [drop("model.W_"), put("model.W_", lambda a: a[:-1]), put("model.new_", np.zeros(3)), put("arrays", 3)]
)
def test_a_file_holds_the_arrays_it_was_saved_with(tmp_path, trained, change):
    path = tmp_path / "model.npz"
    save_trained(path, trained)
    changed(path, change, consistent=False)
    with pytest.raises(DataError, match=r"model\.npz is not a trained model .*: ?.*make it again"):
        load_trained(path)


@pytest.mark.parametrize(
    "change",
    [
        put("recipe.class_vectors", lambda a: a[::-1]),
        put("model.W_", lambda a: a[::-1]),
        put("parameters/lam", 2.0),
        put("recipe/classes/class_name", lambda names: names[::-1]),
        put("confidence", {}),
        put("digest", "x"),
        drop("digest"),
    ],
)
def test_contents_that_fit_and_are_not_those_that_were_saved_are_refused(tmp_path, trained, change):
    path = tmp_path / "model.npz"
    save_trained(path, trained)
    changed(path, change)
    with pytest.raises(DataError, match=r"model\.npz is not .*changed since it was saved.*make it again"):
        load_trained(path)


def test_unchanged_contents_load(tmp_path, trained):
    path = tmp_path / "model.npz"
    save_trained(path, trained)
    changed(path, lambda header, arrays: None)
    assert load_trained(path).model.get_params() == trained.model.get_params()


@pytest.mark.parametrize(
    "change",
    [
        drop("classifier.S_target"),
        put("classifier.S_target", lambda a: a[:, :-1]),
        put("classifier.classifiers", lambda a: a[:-1]),
        put("classifier.classifiers", lambda a: a * np.nan),
        drop("classifier.classifiers"),
    ],
)
def test_classifiers_are_checked_too(tmp_path, trained, change):
    path = tmp_path / "classifier.npz"
    save_classifier(path, trained.model.adapt(trained.recipe.targets().vectors))
    changed(path, change)
    with pytest.raises(DataError, match=r"classifier\.npz is not an adapted classifier"):
        load_classifier(path)


@pytest.mark.parametrize("content", [b"hello", npy_header((10**12,)) + b"x", npy_header((2, 2)) + bytes(40)])
def test_a_member_that_is_no_array_or_not_as_large_as_it_says_is_refused(tmp_path, trained, content):
    path = tmp_path / "model.npz"
    save_trained(path, trained)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model.new_.npy", content)
    with pytest.raises(DataError, match="is not a trained model"):
        load_trained(path)


def test_nothing_of_a_file_that_a_stranger_s_model_names_is_told(tmp_path, trained):
    """Even where the stranger knows its digest: a file that changes afterwards is not read."""
    (tmp_path / "secret").write_text("SESAME 1 2 3")
    source = {"kind": "word_vectors", "path": str(tmp_path / "secret"), "fingerprint": "12-0123"}
    path = tmp_path / "model.npz"
    save_trained(path, replace(trained, recipe=replace(trained.recipe, sources=[source])))
    with pytest.raises(DataError) as caught:
        find_classes(load_trained(path).recipe, "zebra, lion")
    assert "SESAME" not in str(caught.value)


def test_random_damage_is_refused_or_harmless(monkeypatch):
    """In short; ``python -m tests.campaign --only models`` does it at length, and for every method."""
    monkeypatch.setattr(models, "METHODS", {"eszsl": METHODS["eszsl"]})
    tally = Tally("model files")
    for seed in range(25):
        tally.take(seed, partial(models.model_file, np.random.default_rng(seed)))
    assert tally.notes == []
    assert tally.counts["refused"] > 15


def test_a_model_keeps_how_sure_its_answers_are(trained, tmp_path):
    path = tmp_path / "model.npz"
    confidence = Confidence(0.25, 0.5, Stacking(0.1, 2.0), Expectation(0.6, 0.3, 12, 3))
    sure = TrainedModel(trained.model, trained.recipe, confidence)
    for one in (trained, sure):
        save_trained(path, one)
        assert load_trained(path).confidence == one.confidence
    for place, value in (("confidence/temperature", -1), ("confidence/threshold", 2), ("confidence/other", 1)):
        save_trained(path, sure)
        changed(path, put(place, value) if "other" not in place else drop("confidence"))
        with pytest.raises(DataError, match=r"model\.npz"):
            load_trained(path)


def test_a_parameter_that_is_a_list_is_kept(tmp_path):
    recipe, data = make_recipe()
    shares = [1.0 + c for c in range(len(data.S_new))]
    seen = recipe.features(data.X), data.y, recipe.semantics(data.S)
    model = make_method("eszsl_t", totals=shares).fit(*seen)
    save_trained(tmp_path / "model.npz", TrainedModel(model, recipe))
    assert load_trained(tmp_path / "model.npz").model.totals == shares
    classifier = model.adapt(recipe.semantics(data.S_new), recipe.features(data.X_new))
    save_classifier(tmp_path / "classifier.npz", classifier)
    np.testing.assert_array_equal(load_classifier(tmp_path / "classifier.npz").labels, classifier.labels)


def test_a_model_whose_sources_were_joined_is_loaded(tmp_path):
    recipe, data = make_recipe()
    width = data.S.shape[1] // 2
    joined, S = fit_normaliser([f"mean@0:{width},{width}:{2 * width}", "centre", "l2"], data.S)
    recipe = replace(recipe, semantics=joined)
    model = make_method("eszsl").fit(recipe.features(data.X), data.y, S)
    save_trained(tmp_path / "model.npz", TrainedModel(model, recipe))
    assert load_trained(tmp_path / "model.npz").model.n_semantics_in_ == width


def test_relative_names_are_found_from_where_the_model_lies(tmp_path, trained, monkeypatch):
    """Typed in the project's root, and used from anywhere."""
    (tmp_path / "nets/clip").mkdir(parents=True)
    (tmp_path / "nets/clip/config.json").write_text("{}")
    (tmp_path / "said.json").write_text("{}")
    named = {"parts": [{"backbone": "nets/clip", "weights": "default", "layer": None}], "fingerprint": ""}
    text = {"kind": "text", "encoder": "openai/clip", "descriptions": "said.json", "fingerprint": "1-a+1-b"}
    sources = [text, {"kind": "attributes"}]
    recipe = replace(trained.recipe, backbone=named, sources=sources)
    path = tmp_path / "data/06_models/own/eszsl/model.npz"
    save_trained(path, replace(trained, recipe=recipe))
    monkeypatch.chdir(tmp_path)
    assert load_trained(path).recipe.backbone == named  # from the root itself as it was typed
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = load_trained(path).recipe
    assert found.backbone["parts"] == [{"backbone": str(tmp_path / "nets/clip"), "weights": "default", "layer": None}]
    assert found.sources[0] == {**sources[0], "descriptions": str(tmp_path / "said.json")}  # the hub's name stays
    assert found.sources[1] == sources[1]
    far = replace(recipe, backbone={**named, "parts": [{**named["parts"][0], "backbone": "/another/machine/clip"}]})
    save_trained(path, replace(trained, recipe=far))
    assert load_trained(path).recipe.backbone == far.backbone  # nowhere: whoever needs it says so
    (tmp_path / "nets/clip").rename(path.parent / "clip")
    assert load_trained(path).recipe.backbone["parts"][0]["backbone"] == str(path.parent / "clip")
