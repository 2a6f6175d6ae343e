"""Vision models of transformers, by folder: tiny random ones, against the libraries' own road."""

import numpy as np
import pytest
import torch
from PIL import Image

from aezsl.encoders.images.backbones import make_backbone
from aezsl.errors import DataError
from tests.helpers.pretrained import save_pair, save_vision

pytestmark = pytest.mark.slow  # imports a large library

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
    from transformers import AutoImageProcessor, AutoModel

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


def test_changed_weights_are_another_backbone(folders, tmp_path):
    changed = save_pair(tmp_path, seed=1)
    first = make_backbone(changed).fingerprint
    assert make_backbone(changed).fingerprint == first
    save_pair(tmp_path, seed=2)
    assert make_backbone(changed).fingerprint != first


def test_what_is_not_there_is_said_with_the_remedy(tmp_path, monkeypatch, folders):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(DataError, match=r"'openai/clip' is not in the cache .*no network.*hf download openai"):
        make_backbone("openai/clip")
    with pytest.raises(DataError, match="no folder /nowhere/clip"):
        make_backbone("/nowhere/clip")
    with pytest.raises(DataError, match=r"has no config\.json"):
        make_backbone(str(tmp_path))
    with pytest.raises(ValueError, match="weights must be default"):
        make_backbone(folders["clip"], "random")
    with pytest.raises(ValueError, match="vector of its family only"):
        make_backbone(folders["clip"], layer="layer4").load()
