"""Any photo, any words: names of a folder of photos by a model that needs no training image, and how right they are."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import NamedVectors, VectorSet
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.named_classes import NamedClasses
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.intervals import class_mean_interval, paired_difference
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.formats.class_table import file_text
from aezsl.formats.image_folders import read_new_images
from aezsl.kinds import Settings, Text
from aezsl.methods import make_method
from aezsl.reporting.figures import Figure
from aezsl.reporting.gallery import GallerySettings, draw_gallery
from aezsl.serving.classes import find_classes
from aezsl.serving.photos import NETWORK, photo_model
from aezsl.serving.trained import TrainedModel


class PhotosSettings(Settings):
    """Naming photos by the photo model, which needs no training image: --pipeline=photos.

    --params=photos.images=<folder>,photos.labels=<file>. Where the photos lie in folders named by class, and no labels
    are given, the folders are the labels and accuracy is measured.
    """

    images: Text | None = None
    """The folder of photos; those in folders below it too."""
    labels: Text | list[Text] | None = None
    """The names to choose among: a list, a file with one per line, or names joined by +. null: the folders' names."""
    network: Text = NETWORK
    """The network whose classifiers are the seen classes; any that ends in named ones."""
    together: bool = True
    """Whether the folder is named as a whole, too: photos that look alike get one name."""


def _compared(model: TrainedModel, together: bool) -> dict[str, Any]:
    """Methods on the same classifiers by their names in the table; the first is what gains are measured against."""
    state, seen = model.model.get_state(), model.model.seen_  # type: ignore[attr-defined]
    from aezsl.methods.heads.methods import conse

    found: dict[str, Any] = {
        "one mapping": make_method("head_mapping", weighting="none", similar=len(seen.rows)).set_state(state),
        "ConSE": conse(seen),
        "category-specific": make_method("head_mapping").set_state(state),
        "photo model": model.model,
    }
    if together:
        found["photo model, as a folder"] = make_method("aezsl_heads_t").set_state(state)
    return found


def list_photos(settings: PhotosSettings) -> tuple[pd.DataFrame, list[str]]:
    """The photos, with the name of their folder as their class where that is a label, and the labels."""
    if settings.images is None:
        raise ParameterError("photos.images names no folder: give --params=photos.images=<folder>")
    root = Path(settings.images).expanduser()
    images = read_new_images(root).images
    folders = [str(Path(path).relative_to(root).parent) for path in images["path"]]
    labels = _labels(settings.labels) if settings.labels else sorted({folder for folder in folders if folder != "."})
    if not labels:
        raise ParameterError("photos.labels is empty, and the photos lie in no folders whose names could be labels")
    known = {label.casefold(): label for label in labels}
    return images.assign(
        class_name=pd.Series([known.get(folder.casefold()) for folder in folders], images.index, object)
    ), labels


def _labels(given: str | list[str]) -> list[str]:
    if isinstance(given, list):
        return given
    path = Path(given).expanduser()
    lines = file_text(path).splitlines() if path.is_file() else given.split("+")
    return [line.strip() for line in lines if line.strip()]


def extract_photos(
    images: pd.DataFrame, store: VectorStore, settings: PhotosSettings, extraction: ExtractionSettings
) -> tuple[VectorSet, dict[str, str]]:
    """Features of the photos by the network of the model; what cannot be read is listed."""
    encoder = photo_model(settings.network).recipe.make_encoder(device=extraction.device)
    return encoder.extract(images, store, extraction.model_copy(update={"on_error": "skip"}))


def name_photos(
    images: pd.DataFrame,
    labels: list[str],
    features: NamedVectors,
    unreadable: Mapping[str, str],
    settings: PhotosSettings,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float]]:
    """The names; a table of methods side by side, and metrics, where the photos' own names are known."""
    images = images[~images["image_id"].isin(set(unreadable))]
    if images.empty:
        raise DataError("none of the photos can be read")
    model = photo_model(settings.network)
    targets = find_classes(model.recipe, labels)
    X = features.get(images["image_id"].tolist(), "photos", "their features", "run photos again").astype(np.float64)
    chosen = photo_model(settings.network, settings.together)
    answers = chosen.answer(X, targets).table()
    about = {"label_space": f"{len(labels)}", "path": images["path"].to_numpy()}
    true = images["class_name"].to_numpy(dtype=object)
    predictions = pd.DataFrame({"image_id": images["image_id"].to_numpy(), "true": true, **answers, **about})
    table, metrics = _measure(model, X, targets, true, settings.together)
    return predictions, table, metrics


def _measure(
    model: TrainedModel, X: Any, targets: NamedClasses, true: Any, together: bool
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Per-class accuracies with their intervals, and gains over one mapping that all labels share."""
    known = np.array([name is not None for name in true])
    columns = ["method", "per_class_accuracy", "low", "high", "gain", "gain_low", "gain_high"]
    if not known.any():
        return pd.DataFrame(columns=columns), {}
    number = {name: i for i, name in enumerate(targets.names)}
    y = np.array([number[name] for name in true[known]])
    right = {
        name: method.predict(X[known], targets.vectors) == y for name, method in _compared(model, together).items()
    }
    rows, metrics = [], {}
    first = next(iter(right.values()))
    for name, own in right.items():
        found, interval = per_class_accuracy(y, np.where(own, y, -1)), class_mean_interval(y, own)
        gain = paired_difference(y, own, first)
        rows.append((name, found, *interval, gain.mean, gain.low, gain.high))
        metrics[f"{re.sub(r'[^a-z]+', '_', name.lower())}.per_class_accuracy"] = found
    return pd.DataFrame(rows, columns=columns), metrics


def draw_photos(predictions: pd.DataFrame, images: pd.DataFrame, settings: GallerySettings) -> Figure:
    """The picture sheet."""
    return draw_gallery(predictions.drop(columns="path"), images, settings)
