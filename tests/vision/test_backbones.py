import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from aezsl.vision.backbones import make_backbone
from aezsl.vision.networks import LayerFeatures, efficientnet_lite0, torchvision_network
from aezsl.vision.torchvision import torchvision


@pytest.fixture(scope="module")
def picture():
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 255, (300, 260, 3), dtype=np.uint8)).resize((600, 500))


def test_guarded_import_gives_working_models_and_transforms():
    from torchvision.transforms import v2

    assert "googlenet" in torchvision.models.list_models()
    assert v2.functional.pil_to_tensor(Image.new("RGB", (4, 3))).shape == (3, 3, 4)


def test_efficientnet_engine_equals_eager_torch(picture):
    preprocess, run = make_backbone("efficientnet_lite0").load()
    pixels = preprocess(picture)[None]
    assert pixels.shape == (1, 3, 224, 224)
    assert pixels.dtype == np.float32
    with torch.inference_mode():
        expected = efficientnet_lite0("default", None).network.eval()(torch.from_numpy(pixels)).numpy()
    features = run(np.concatenate([pixels, pixels]))
    assert features.shape == (2, 1280)
    np.testing.assert_allclose(features[0], expected[0], atol=1e-4)


def test_googlenet_gives_1024_pooled_features(picture):
    backbone = make_backbone("googlenet", weights="random")
    preprocess, run = backbone.load()
    assert run(preprocess(picture)[None]).shape == (1, 1024)
    assert backbone.config["weights"].startswith("random")


@pytest.mark.parametrize(
    ("name", "layer", "width"),
    [("vgg16", "classifier.1", 4096), ("vgg19", "classifier.1", 4096), ("resnet101", None, 2048)],
)
def test_feature_layers_have_the_papers_width(name, layer, width):
    with torch.device("meta"):  # shapes only: a VGG has half a gigabyte of weights
        network = torchvision.models.get_model(name, weights=None).eval()
        layer = layer or torchvision.models.feature_extraction.get_graph_node_names(network)[1][-2]
        assert LayerFeatures(network, layer)(torch.zeros(1, 3, 224, 224)).shape == (1, width)


def test_local_weights_are_loaded_and_named(tmp_path):
    network = torchvision.models.get_model("resnet18", weights=None)
    torch.nn.init.constant_(network.conv1.weight, 0.0)
    torch.save(network.state_dict(), tmp_path / "mine.pth")
    loaded = torchvision_network("resnet18", str(tmp_path / "mine.pth"), None).network
    assert loaded(torch.zeros(1, 3, 64, 64)).shape == (1, 512)
    assert not loaded.get_parameter("network.conv1.weight").any()
    first = make_backbone("resnet18", str(tmp_path / "mine.pth"))
    torch.save({"other": torch.zeros(1)}, tmp_path / "mine.pth")
    assert make_backbone("resnet18", str(tmp_path / "mine.pth")).fingerprint != first.fingerprint


def test_fingerprint_follows_what_the_features_depend_on():
    first, second = (make_backbone("resnet18", "random", layer) for layer in (None, "layer4"))
    assert first.fingerprint != second.fingerprint
    assert first.fingerprint == make_backbone("resnet18", "random").fingerprint


def test_missing_weights_say_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(
        torch.hub, "download_url_to_file", lambda *_, **__: (_ for _ in ()).throw(OSError("no network"))
    )
    with pytest.raises(FileNotFoundError, match=r"checkpoints/googlenet-.*\.pth and could not be downloaded"):
        make_backbone("googlenet").load()
    with pytest.raises(FileNotFoundError, match="no weights at"):
        make_backbone("resnet18", str(tmp_path / "none.pth"))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown backbone 'lenet'"):
        make_backbone("lenet").load()
    with pytest.raises(ValueError, match="pooled features only"):
        make_backbone("efficientnet_lite0", layer="conv1").load()


def test_naming_a_backbone_does_not_import_torch():
    code = (
        "import sys; from aezsl.vision.backbones import make_backbone; make_backbone('efficientnet_lite0').fingerprint"
    )
    subprocess.run([sys.executable, "-c", f"{code}; sys.exit('torch' in sys.modules)"], check=True)
