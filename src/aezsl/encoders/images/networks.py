"""Networks cut at their feature layer. Imports torch: import this module only where a network is needed."""

import hashlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

import torch

from aezsl.encoders.images.backbones import TRANSFORMING, packaged_weights
from aezsl.encoders.images.preprocessing import LITE_SIZES
from aezsl.encoders.pretrained import is_hub_model, load_model, model_config, model_folder
from aezsl.errors import DataError, ParameterError

#: Where features are taken when the layer before the classifier is not what the literature means. Caffe's fc6
#: blob, which "VGG fc6" refers to, holds the values after the in-place ReLU.
FEATURE_LAYERS = dict.fromkeys(("vgg11", "vgg13", "vgg16", "vgg19"), "classifier.1")


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


class TransformersFeatures(torch.nn.Module):
    """The image vector of a model of transformers, pooled and projected as its family does.

    A model with two towers (CLIP, SigLIP), and the image tower alone if it has its projection: the projected vector
    that is compared with texts. ViT, DeiT and MAE: the class token, since what they call pooler is not trained with the
    classifier. All others (DINOv2, Swin, ConvNeXt, BEiT, ResNet): what they call pooled.
    """

    #: Families whose classifier reads the class token, and what to leave out of each: the pooler that is not used, and
    #: the masking of patches, by which a MAE would see another part of the image every time.
    by_class_token: ClassVar[dict[str, dict[str, Any]]] = {
        "vit": {"add_pooling_layer": False},
        "deit": {"add_pooling_layer": False},
        "vit_mae": {"mask_ratio": 0.0},
        "vit_msn": {},
    }

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(batch, 3, height, width) -> (batch, d)."""
        if hasattr(self.model, "get_image_features"):
            found = self.model.get_image_features(pixel_values=images)
            vectors: torch.Tensor = found if isinstance(found, torch.Tensor) else found.pooler_output
            return vectors
        family = self.model.config.model_type
        # A MAE shuffles patches by noise, even where it masks none: without noise they stay in their order.
        unmixed = {"noise": images.new_zeros(len(images), self._n_patches())} if family == "vit_mae" else {}
        found = self.model(pixel_values=images, **unmixed)
        if (projected := getattr(found, "image_embeds", None)) is not None:
            vector: torch.Tensor = projected
            return vector
        if family in self.by_class_token:
            token: torch.Tensor = found.last_hidden_state[:, 0]
            return token
        return torch.flatten(found.pooler_output, 1)

    def _n_patches(self) -> int:
        config = self.model.config
        n_patches: int = (config.image_size // config.patch_size) ** 2
        return n_patches


def make_network(name: str, weights: str, layer: str | None) -> torch.nn.Module:
    """The network whose output is the feature; arguments as in ``make_backbone``."""
    if name in LITE_SIZES:
        return efficientnet_lite(name, weights, layer)
    return transformers_network(name, layer) if is_hub_model(name) else torchvision_network(name, weights, layer)


def efficientnet_lite(name: str, weights: str, layer: str | None) -> torch.nn.Module:
    """EfficientNet-Lite0 to 2 (1280-d pooled), by default with the weights that its package carries."""
    from efficientnet_lite_pytorch import EfficientNet

    if layer not in (None, "pooled"):
        raise ParameterError(f"{name} gives its pooled features only, got layer {layer!r}")
    torch.manual_seed(0)  # random weights must be the same in every run, or no cache could hold
    network = EfficientNet.from_name(name.replace("_", "-", 1))
    if weights != "random":
        load_weights(network, packaged_weights(name) if weights == "default" else weights)
    return PooledFeatures(network)


def transformers_network(name: str, layer: str | None) -> torch.nn.Module:
    """A vision model of transformers from its folder, or the one that the hub's cache has."""
    if layer is not None:
        raise ParameterError(f"{name} gives the vector of its family only, got layer {layer!r}")
    folder = model_folder(name)
    options = TransformersFeatures.by_class_token.get(model_config(folder).get("model_type", ""), {})
    # Plain attention: the fused one has no counterpart in the exported graph.
    return TransformersFeatures(load_model(folder, "a vision model", attn_implementation="eager", **options))


def torchvision_models(name: str) -> Any:
    """The models of torchvision, among which ``name`` must be."""
    from aezsl.encoders.torchvision import torchvision

    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        near = get_close_matches(name, [*LITE_SIZES, *known], n=1)
        hint = f": did you mean {near[0]}?" if near else "."
        raise ParameterError(
            f"unknown backbone {name!r}{hint} Expected {', '.join(LITE_SIZES)}, a classification model of torchvision, "
            "such as resnet50, or a folder or a name on the hub (owner/model) of a vision model"
        )
    return torchvision.models


def torchvision_network(name: str, weights: str, layer: str | None) -> torch.nn.Module:
    """A classification model of torchvision, cut at a layer."""
    network, _ = torchvision_classifier(name, weights)

    from torchvision.models.feature_extraction import get_graph_node_names  # isort: skip

    layer = layer or FEATURE_LAYERS.get(name) or get_graph_node_names(network)[1][-2]
    return LayerFeatures(network, layer)


def torchvision_classifier(name: str, weights: str) -> tuple[torch.nn.Module, list[str] | None]:
    """A classification model of torchvision, and what its classes are called, where its weights say so."""
    models = torchvision_models(name)
    if weights == "default":
        published = _downloaded(models.get_model_weights(name).DEFAULT)
        return models.get_model(name, weights=published).eval(), published.meta.get("categories")
    torch.manual_seed(0)  # random weights must be the same in every run, or no cache could hold
    options = {}
    if name in TRANSFORMING:  # their published weights expect another normalisation, which the network does itself
        options = {"init_weights": weights == "random", "transform_input": weights != "random"}
    network = models.get_model(name, weights=None, **options)
    if weights != "random":
        load_weights(network, weights)
    return network.eval(), None


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
        raise DataError(
            f"the weights {published} are not at {place} and could not be downloaded ({error}). Download "
            f"{published.url} on a connected machine and put it there, or name a local file as `weights`"
        ) from error
    # The name ends in the first digits of the digest, which torch compares only when it downloads.
    with place.open("rb") as file:
        if not hashlib.file_digest(file, "sha256").hexdigest().startswith(place.stem.rpartition("-")[2]):
            raise DataError(f"{place} is not what was published under its name: delete it, so that it is fetched again")
    return published


def load_weights(network: torch.nn.Module, file: str) -> None:
    """Load a state dict without running anything in it."""
    network.load_state_dict(torch.load(Path(file).expanduser(), map_location="cpu", weights_only=True))
