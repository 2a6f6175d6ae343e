"""The last layer of a network: rows, biases and names. Torch is needed the first time; then they are in a file."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.encoders.images.backbones import make_backbone, packaged_weights
from aezsl.encoders.images.engine import graph_folder
from aezsl.encoders.images.preprocessing import LITE_SIZES
from aezsl.encoders.knowledge.named import NamedClassifiers, imagenet_classes, wordnet
from aezsl.encoders.pretrained import is_hub_model, load_model, model_config, model_folder
from aezsl.errors import DataError
from aezsl.formats.npz import check_unchanged, load_npz, save_npz

log = logging.getLogger(__name__)

#: Raised whenever the same network would give another file.
VERSION = 1

#: Where the networks of torchvision and transformers have their last layer.
PLACES = ("fc", "classifier", "heads", "head")

Head = tuple[Any, Any, Sequence[str]]  # rows, biases, names


def named_classifiers(network: str = "efficientnet_lite0", weights: str = "default") -> NamedClassifiers:
    """The classifiers in the last layer of a network, with their names; arguments as in ``make_backbone``."""
    config = make_backbone(network, weights).config
    key = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:32]
    path = graph_folder().with_name("knowledge") / f"{key}.npz"
    with suppress(DataError):  # not there yet, damaged, or of another version
        header, arrays = load_npz(path, "classifiers of a network", VERSION, ("names",))
        check_unchanged(header, arrays)
        return NamedClassifiers.build(arrays["rows"], arrays["biases"], header["names"])
    rows, biases, names = _head(network, weights)
    arrays = {"rows": np.asarray(rows, dtype=np.float32), "biases": np.asarray(biases, dtype=np.float32)}
    named = NamedClassifiers.build(arrays["rows"], arrays["biases"], names)
    try:
        save_npz(path, {"version": VERSION, "names": list(names)}, arrays)
    except OSError as error:  # a full disk or a home that cannot be written to: slower, but not wrong
        log.warning("the classifiers of %s could not be kept at %s (%s)", network, path, error)
    return named


def _head(network: str, weights: str) -> Head:
    if weights == "random":
        raise DataError(f"{network} with random weights knows no class: take trained ones")
    if network in LITE_SIZES:
        return _lite_head(network, weights)
    return _transformers_head(model_folder(network)) if is_hub_model(network) else _torchvision_head(network, weights)


def _lite_head(network: str, weights: str) -> Head:
    import torch

    path = packaged_weights(network) if weights == "default" else Path(weights).expanduser()
    state = torch.load(path, map_location="cpu", weights_only=True)
    if "_fc.weight" not in state:
        raise DataError(f"{path} has no last layer _fc: expected the whole network {network}, with its classifiers")
    return state["_fc.weight"].numpy(), state["_fc.bias"].numpy(), _imagenet_names(len(state["_fc.bias"]), network)


def _torchvision_head(network: str, weights: str) -> Head:
    from aezsl.encoders.images.networks import FEATURE_LAYERS, torchvision_classifier

    if network in FEATURE_LAYERS:
        raise DataError(
            f"features of {network} are taken at {FEATURE_LAYERS[network]}, which its classifiers do not read: take "
            "another network"
        )
    model, names = torchvision_classifier(network, weights)
    rows, biases = _linear(model, network)
    return rows, biases, names or _imagenet_names(len(rows), network)


def _transformers_head(folder: Path) -> Head:
    names = _labels(model_config(folder), folder)
    model = load_model(folder, "an image classifier", auto="AutoModelForImageClassification")
    rows, biases = _linear(model, str(folder))
    return rows, biases, names


def _labels(config: Mapping[str, Any], folder: Path) -> list[str]:
    """The names of the classes, which ``transformers`` makes up where a model has none."""
    labels = config.get("id2label") or {}
    names = [str(labels[key]) for key in sorted(labels, key=int)]
    if not names or all(name == f"LABEL_{i}" for i, name in enumerate(names)):
        raise DataError(
            f"{folder} does not say what its classes are called (id2label in config.json): labels cannot be compared "
            "with them"
        )
    return names


def _linear(model: Any, network: str) -> tuple[Any, Any]:
    """Weights (C, d) and biases (C,) of the last layer, where that is linear."""
    import torch

    for place in PLACES:
        layers = list(getattr(model, place, torch.nn.Identity()).modules())
        if layers and isinstance(layers[-1], torch.nn.Linear):
            weight, bias = layers[-1].weight.detach(), layers[-1].bias
            return weight.numpy(), (torch.zeros(len(weight)) if bias is None else bias.detach()).numpy()
    raise DataError(f"{network} does not end in linear classifiers ({', '.join(PLACES)}): take a network that does")


def _imagenet_names(n_classes: int, network: str) -> list[str]:
    """Names of the 1,000 classes of ImageNet, for a network that brings none along."""
    if n_classes != len(imagenet_classes()):
        raise DataError(f"nobody says what the {n_classes} classes of {network} are called: ImageNet has 1,000")
    return [", ".join(wordnet()[wnid].names) for wnid in imagenet_classes()]
