"""One line to classify: paths, contents and PIL images, one or many, among any labels."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

import aezsl
from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.images import encoder
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts import sentences
from aezsl.errors import DataError
from aezsl.evaluation.confidence import Confidence
from aezsl.methods import make_method
from aezsl.serving.model_file import save_trained
from aezsl.serving.trained import TrainedModel

COLOURS = {"red": (250, 0, 0), "green": (0, 250, 0), "blue": (0, 0, 250), "dark_grey": (60, 60, 60)}


def mean_colour():
    """Features are the mean colour."""
    preprocess = lambda image: np.asarray(image.resize((4, 4)), dtype=np.float32).transpose(2, 0, 1)  # noqa: E731
    return Backbone({"backbone": "colour"}, lambda: (preprocess, lambda batch: batch.mean(axis=(2, 3)) / 250))


def words_as_colours(texts):
    return np.array([[word in text for word in ("red", "green", "blue")] for text in texts], dtype=np.float32) + 0.1


@pytest.fixture
def trained(monkeypatch):
    monkeypatch.setattr(encoder, "make_backbone", lambda *_: mean_colour())
    monkeypatch.setattr(sentences, "load_encoder", lambda *_: words_as_colours)
    names = list(COLOURS)
    S = words_as_colours(names)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 20)
    X = np.array(list(COLOURS.values()))[y] / 250 + 0.05 * rng.normal(size=(80, 3))
    recipe = Recipe(
        backbone={
            "parts": [{"backbone": "colour", "weights": "default", "layer": None}],
            "fingerprint": mean_colour().fingerprint,
        },
        features=fit_normaliser([], X)[0],
        semantics=fit_normaliser(["l2"], S)[0],
        sources=[{"kind": "text", "encoder": "minilm"}],
        attribute_names=[],
        classes=pd.DataFrame({"class_name": names, "role": ["seen"] * 3 + ["unseen"], "text": names}),
        class_vectors=S,
        example=X[:2],
    )
    return TrainedModel(make_method("eszsl", gamma=0.1, lam=0.1).fit(X, y, recipe.semantics(S)), recipe)


@pytest.fixture
def pictures(tmp_path):
    made = {}
    for name, colour in COLOURS.items():
        made[name] = str(tmp_path / f"{name}.png")
        Image.new("RGB", (8, 8), colour).save(made[name])
    return made


def test_paths_contents_and_pil_images_get_the_same_answer(trained, pictures, tmp_path):
    content = (tmp_path / "red.png").read_bytes()
    forms = [pictures["red"], tmp_path / "red.png", content, Image.open(io.BytesIO(content)), Image.new("RGBA", (9, 9))]
    answers = aezsl.classify(forms, "something red, something blue", trained)
    assert len(answers) == 5
    for one in answers[:4]:
        assert one == answers[0]
        assert [line["label"] for line in one] == ["something red", "something blue"]
        assert sum(line["score"] for line in one) == pytest.approx(1)
        assert one[0]["score"] > one[1]["score"]
    assert aezsl.classify(pictures["red"], ["something red", "something blue"], trained) == answers[0]
    assert aezsl.classify([], "red, blue", trained) == []
    assert aezsl.classify(pictures["blue"], {"A": "it is red", "B": "it is blue"}, trained, top=1)[0]["label"] == "B"


def test_what_is_no_image_is_refused_by_name_or_number(trained, pictures, tmp_path):
    (tmp_path / "cut.png").write_bytes((tmp_path / "red.png").read_bytes()[:40])
    (tmp_path / "cut.jpg").write_bytes(_jpeg((400, 300))[:2000])
    for images, message in (
        ("https://example.org/fox.jpg", r"https://example.org/fox.jpg is an address.*save the image"),
        ([pictures["red"], b"no image"], "image 1 cannot be read as an image"),
        ([pictures["red"], Image.open(tmp_path / "cut.jpg")], "image 1 cannot be read as an image"),
        (tmp_path / "cut.png", r"cut\.png cannot be read as an image"),
        (tmp_path / "none.png", r"none\.png does not exist"),
        (np.zeros((2, 8, 8, 3)), "image 0 is a ndarray: give images by path, as bytes, or as PIL images"),
        ([None], "the image is a NoneType"),
    ):
        with pytest.raises(DataError, match=message):
            aezsl.classify(images, "red, blue", trained)


def _jpeg(size, **options):
    stream = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (*size[::-1], 3), dtype=np.uint8)
    Image.fromarray(noise).save(stream, "jpeg", **options)
    return stream.getvalue()


@pytest.mark.parametrize("method", ["aezsl", "eszsl_lr", "aezsl_t"])
def test_any_method_gives_scores_in_their_order(method, trained, pictures):
    recipe = trained.recipe
    X = np.repeat(np.array(list(COLOURS.values())) / 250, 5, axis=0)
    model = make_method(method).fit(X, np.repeat(np.arange(4), 5), recipe.semantics(recipe.class_vectors))
    for one in aezsl.classify(list(pictures.values()), "red, green, blue", TrainedModel(model, recipe)):
        scores = [line["score"] for line in one]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) == pytest.approx(1)


def test_the_project_s_own_model_comes_before_that_of_the_benchmark(trained, pictures, tmp_path, caplog):
    caplog.set_level("INFO")
    for place in ("emoji/eszsl", "own/eszsl"):
        save_trained(tmp_path / "data/06_models" / place / "model.npz", trained)
        assert aezsl.classify(pictures["red"], "red, blue", "eszsl", project=tmp_path)[0]["label"] == "red"
        assert place in caplog.text
    file = tmp_path / "data/06_models/emoji/eszsl/model.npz"
    assert aezsl.classify(pictures["red"], "red, blue", model=file)[0]["label"] == "red"
    with pytest.raises(DataError, match="no model sync"):
        aezsl.classify(pictures["red"], "red, blue", model="sync", project=tmp_path)
    for place in ("modle.npz", "exported/modle"):
        with pytest.raises(DataError, match=f"{place} is neither the file of a model nor an exported folder"):
            aezsl.classify(pictures["red"], "red, blue", model=place, project=tmp_path)


def test_an_image_whose_best_label_is_improbable_is_none_of_these(trained, pictures):
    for threshold, labels in ((0.99, ["none of these", "red", "blue"]), (0.0, ["red", "blue"])):
        model = TrainedModel(trained.model, trained.recipe, Confidence(temperature=10.0, threshold=threshold))
        answer = aezsl.classify(pictures["red"], "red, blue", model)
        assert [line["label"] for line in answer] == labels
        assert sum(line["score"] for line in answer) == pytest.approx(1)
        assert aezsl.classify(pictures["red"], "red, blue", model, none=False) == answer[-2:]
        answers = model.answer(model.encode()([pictures["red"]]), model.recipe.targets(), top=1)
        assert answers.none_of_these.tolist() == [answers.probabilities.item() < threshold]


def test_labels_that_cannot_be_used_are_refused(trained, pictures):
    for labels, message in ((" , ", "labels"), ("red, red", "red .* more than once"), ({"a": " "}, "description of a")):
        with pytest.raises(DataError, match=message):
            aezsl.classify(pictures["red"], labels, trained)
    by_attributes = Recipe(**{**vars(trained.recipe), "sources": [{"kind": "attributes"}]})
    model = TrainedModel(trained.model, by_attributes)
    assert aezsl.classify(pictures["red"], "red, blue", model)[0]["label"] == "red"
    with pytest.raises(DataError, match=r"'a fox' .* knows classes by attributes"):
        aezsl.classify(pictures["red"], "red, a fox", model)


def test_the_command_prints_json(trained, pictures, tmp_path, monkeypatch):
    from aezsl.cli import cli

    monkeypatch.chdir(tmp_path)
    ask = ["--labels", "red, green, blue", "--model", "eszsl", "--json"]
    address = CliRunner().invoke(cli, ["classify", "https://example.org/a.png", *ask])
    assert address.exit_code == 1
    assert CliRunner().invoke(cli, ["classify", pictures["red"], *ask]).exit_code == 1
    save_trained(tmp_path / "data/06_models/own/eszsl/model.npz", trained)
    one = CliRunner().invoke(cli, ["classify", pictures["red"], *ask])
    assert json.loads(one.stdout)[0]["label"] == "red"
    folder = CliRunner().invoke(cli, ["classify", str(tmp_path), *ask, "--top", "1"])
    found = {path.rpartition("/")[2]: line[0]["label"] for path, line in json.loads(folder.stdout).items()}
    assert {name: found[f"{name}.png"] for name in ("red", "green", "blue")} == {n: n for n in ("red", "green", "blue")}
