"""Vision models of transformers, by folder: tiny random ones, against the libraries' own road."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import aezsl
from aezsl.data.normalise import Normaliser
from aezsl.encoders import torchvision  # noqa: F401  # transformers imports torchvision, unguarded
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.encoder import make_encoder
from aezsl.encoders.images.settings import ExtractionSettings, named_backbones
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts.encoder import load_encoder
from aezsl.encoders.texts.fingerprints import with_fingerprints
from aezsl.encoders.texts.semantics import embed_classes
from aezsl.errors import AezslError, DataError, ParameterError
from aezsl.methods import make_method
from aezsl.serving.trained import TrainedModel
from tests.helpers.pretrained import save_pair, save_tokenizer, save_tower, save_vision, without_weights
from tests.helpers.recipes import make_recipe

from transformers import AutoConfig, AutoModel  # isort: skip

pytestmark = pytest.mark.slow  # imports a large library

CLASSES = pd.DataFrame({"class_name": ["red_fox", "melon"], "text": ["a red fox", "a green fruit"]})

_SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
LLAVA = {
    "model_type": "llava",
    "text_config": {**_SMALL, "model_type": "llama", "vocab_size": 60},
    "vision_config": {**_SMALL, "model_type": "clip_vision_model", "image_size": 32, "patch_size": 8},
}

FAMILIES = ("clip", "siglip", "dinov2", "vit")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name in FAMILIES:
        (root / name).mkdir()
    made = {name: save_pair(root / name, name) for name in ("clip", "siglip")}
    return made | {name: save_vision(root / name, name) for name in ("dinov2", "vit")}


@pytest.fixture(scope="module")
def picture():
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (50, 70, 3), dtype=np.uint8))


@pytest.mark.parametrize("name", FAMILIES)
def test_image_vectors_are_those_of_the_family(name, folders, picture):
    from transformers import AutoImageProcessor

    preprocess, run = make_backbone(folders[name]).load()
    features = run(np.stack([preprocess(picture)] * 2))
    model = AutoModel.from_pretrained(folders[name]).eval()
    pixels = AutoImageProcessor.from_pretrained(folders[name], backend="pil")(images=picture, return_tensors="pt")
    with torch.inference_mode():
        if name in ("clip", "siglip"):
            expected = model.get_image_features(**pixels).pooler_output
        elif name == "vit":
            expected = model(**pixels).last_hidden_state[:, 0]  # what ViTForImageClassification reads
        else:
            expected = model(**pixels).pooler_output
    assert features.shape == (2, 16)
    np.testing.assert_allclose(features, np.repeat(expected.numpy(), 2, axis=0), atol=1e-5)


def test_one_line_answers_in_the_order_of_the_library_s_own_pipeline(folders):
    """``cosine`` on a pair, from pictures and labels to names, beside transformers' zero-shot classification."""
    from transformers import AutoImageProcessor, AutoTokenizer, pipeline

    folder, rng = folders["clip"], np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)) for _ in range(3)]
    labels = ["a red fox", "a melon", "green", "the round fruit"]
    part = {"backbone": folder, "weights": "default", "layer": None}
    encoder, sources = (
        make_encoder(ExtractionSettings(backbone=folder)),
        with_fingerprints([{"kind": "text", "encoder": folder}]),
    )
    features, vectors = encoder.load()(pictures), embed_classes(CLASSES, sources)
    recipe = Recipe(
        backbone={"parts": [part], "fingerprint": encoder.vectors.fingerprint},
        features=Normaliser(("l2",)),
        semantics=Normaliser(("l2",)),
        sources=sources,
        attribute_names=[],
        classes=CLASSES.assign(role=["seen", "seen"]),
        class_vectors=vectors,
        example=features[:2],
    )
    trained = TrainedModel(make_method("cosine").fit(features, np.array([0, 1, 1]), vectors), recipe)
    answers = aezsl.classify(pictures, labels, trained, none=False)
    theirs = pipeline(
        "zero-shot-image-classification",
        model=AutoModel.from_pretrained(folder),
        tokenizer=AutoTokenizer.from_pretrained(folder),
        image_processor=AutoImageProcessor.from_pretrained(folder, backend="pil"),
        device="cpu",
    )(pictures, candidate_labels=labels, hypothesis_template="{}")
    assert [[line["label"] for line in one] for one in answers] == [[line["label"] for line in one] for one in theirs]
    assert len({one[0]["label"] for one in answers} | {one[-1]["label"] for one in answers}) > 1


def test_a_tower_alone_gives_the_vector_that_its_pair_compares(tmp_path, picture):
    from transformers import CLIPVisionModelWithProjection

    folder = save_tower(tmp_path, width=12)
    preprocess, run = make_backbone(folder).load()
    pixels = preprocess(picture)[None]
    model = CLIPVisionModelWithProjection.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = model(pixel_values=torch.from_numpy(pixels)).image_embeds.numpy()
    assert expected.shape == (1, 12)
    np.testing.assert_allclose(run(pixels), expected, atol=1e-5)


def test_a_masked_autoencoder_sees_the_whole_image_every_time(tmp_path, picture):
    preprocess, run = make_backbone(save_vision(tmp_path, "vit_mae")).load()
    pixels = preprocess(picture)[None]
    model = AutoModel.from_pretrained(tmp_path, mask_ratio=0.0).eval()
    with torch.inference_mode():
        expected = model(pixel_values=torch.from_numpy(pixels)).last_hidden_state[:, 0].numpy()
    np.testing.assert_array_equal(run(pixels), run(pixels))
    np.testing.assert_allclose(run(pixels), expected, atol=1e-5)


def test_weights_that_a_folder_lacks_are_never_drawn_at_random(tmp_path):
    """Which is what the library does, and features would be others every time."""
    (tmp_path / "vit").mkdir()
    (tmp_path / "clip").mkdir()
    save_vision(tmp_path / "vit", "vit")
    make_backbone(without_weights(tmp_path / "vit", "pooler")).load()  # of a classifier, whose pooler nobody needs
    with pytest.raises(DataError, match=r"ViTModel.*layers\.0"):
        make_backbone(without_weights(tmp_path / "vit", "layernorm_before")).load()
    save_pair(tmp_path / "clip")
    with pytest.raises(DataError, match=r"CLIPModel.*text_projection"):
        embed_classes(CLASSES, [{"kind": "text", "encoder": without_weights(tmp_path / "clip", "text_projection")}])


@pytest.mark.parametrize("lacks", ["preprocessor_config.json", "model.safetensors"])
def test_a_folder_that_is_not_whole_is_refused_by_name(lacks, tmp_path):
    folder = save_pair(tmp_path)
    (tmp_path / lacks).unlink()
    with pytest.raises(DataError, match=tmp_path.name):
        make_backbone(folder).load()


def test_a_tokenizer_without_words_is_refused(tmp_path):
    """The library gives it a vocabulary of its own making, by which a fox is a melon."""
    folder = save_pair(tmp_path)
    for file in tmp_path.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        embed_classes(CLASSES, [{"kind": "text", "encoder": folder}])


def test_what_sees_images_only_is_refused_as_an_encoder_of_texts(folders):
    with pytest.raises(DataError, match="dinov2"):
        embed_classes(CLASSES, [{"kind": "text", "encoder": folders["dinov2"]}])


def test_features_do_not_depend_on_where_a_folder_lies(folders, tmp_path, monkeypatch):
    copied = shutil.copytree(folders["vit"], tmp_path / "elsewhere" / "vit")
    monkeypatch.chdir(tmp_path)
    prints = {
        make_backbone(name).fingerprint for name in (folders["vit"], str(copied), "elsewhere/vit", "./elsewhere/vit/")
    }
    assert len(prints) == 1
    assert make_backbone(folders["dinov2"]).fingerprint not in prints


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_in_half_precision_are_computed_with_in_single(dtype, tmp_path, picture):
    folder = save_pair(tmp_path, dtype=dtype)
    preprocess, run = make_backbone(folder).load()
    pixels = preprocess(picture)[None]
    model = AutoModel.from_pretrained(folder).float().eval()
    with torch.inference_mode():
        expected = model.get_image_features(pixel_values=torch.from_numpy(pixels)).pooler_output.numpy()
    np.testing.assert_allclose(run(pixels), expected, atol=1e-5)
    vectors = embed_classes(CLASSES, [{"kind": "text", "encoder": folder}])
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()


def test_a_changed_weight_is_noticed_by_every_reader(tmp_path):
    """One bit of the file, its size and date as before: by features, by vectors of classes, by a recipe of both."""
    folder = save_pair(tmp_path, seed=1)
    settings = ExtractionSettings(backbone=folder)
    sources = with_fingerprints([{"kind": "text", "encoder": folder}])
    encoder = make_encoder(settings)
    backbone = {"parts": named_backbones(settings), "fingerprint": encoder.vectors.fingerprint}
    recipe, _ = make_recipe(backbone=backbone, sources=sources)
    assert recipe.make_encoder().vectors == encoder.vectors
    embed_classes(CLASSES, sources)

    file = tmp_path / "model.safetensors"
    content, date = bytearray(file.read_bytes()), file.stat()
    content[-3] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(date.st_atime_ns, date.st_mtime_ns))
    assert make_encoder(settings).vectors.fingerprint != encoder.vectors.fingerprint
    assert with_fingerprints([{"kind": "text", "encoder": folder}]) != sources
    with pytest.raises(DataError, match=tmp_path.name):
        recipe.make_encoder()
    load_encoder.cache_clear()  # as a new process: one that runs keeps what it has in memory
    with pytest.raises(DataError, match=tmp_path.name):
        embed_classes(CLASSES, sources)


def test_a_language_model_that_sees_is_no_pair(tmp_path):
    """It has the configs of two towers, but none that gives a vector of a text."""
    (tmp_path / "config.json").write_text(json.dumps(LLAVA))
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.from_pretrained(tmp_path)).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(DataError, match="LlavaModel"):
        embed_classes(CLASSES, [{"kind": "text", "encoder": str(tmp_path)}])


def test_what_is_not_there_is_said_with_the_remedy(tmp_path, monkeypatch, folders):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(DataError, match="openai/clip"):
        make_backbone("openai/clip")
    with pytest.raises(DataError, match="/nowhere/clip"):
        make_backbone("/nowhere/clip")
    with pytest.raises(DataError, match=r"config\.json"):
        make_backbone(str(tmp_path))
    with pytest.raises(ParameterError, match="weights"):
        make_backbone(folders["clip"], "random")
    with pytest.raises(AezslError):
        make_backbone(folders["clip"], layer="layer4").load()
