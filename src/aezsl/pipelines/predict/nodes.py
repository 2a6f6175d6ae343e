"""New images, named by a trained model."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from aezsl.datasets.new_images import NewImages
from aezsl.datasets.vector_store import VectorCacheDataset
from aezsl.methods import ZeroShotClassifier
from aezsl.pipelines.evaluation.gallery import draw_gallery
from aezsl.pipelines.evaluation.nodes import TOP
from aezsl.pipelines.feature_extraction.nodes import extract_with
from aezsl.recipe import Recipe, TrainedModel
from aezsl.vectors import VectorChunk, Vectors


def extract_new(
    new: NewImages, cache: VectorCacheDataset, recipe: Recipe, predict: dict[str, Any], extraction: dict[str, Any]
) -> Iterator[tuple[VectorChunk, dict[str, str]]]:
    """Features of the new images, by the backbone that the model was trained with."""
    yield from extract_with(recipe.make_backbone(predict["backbone"]), new.images, cache, extraction)


def classify(
    model: ZeroShotClassifier, recipe: Recipe, new: NewImages, features: Vectors, unreadable: dict[str, str]
) -> pd.DataFrame:
    """One row per readable image: its name among the given classes, the score, and the next best names."""
    images = new.images[~new.images["image_id"].isin(set(unreadable))]
    targets = recipe.targets(new.classes, new.attribute_names)
    vectors = features.take(features.rows(images["image_id"].tolist()))
    predictions = TrainedModel(model, recipe).classify(vectors, targets, TOP)
    predictions.insert(0, "image_id", images["image_id"].to_numpy())
    predictions.insert(1, "true", None)
    return predictions.assign(label_space=f"{len(targets.names)}", path=images["path"].to_numpy())


def draw_new(predictions: pd.DataFrame, new: NewImages, settings: dict[str, Any]) -> Figure:
    """The picture sheet, no larger than the images fill."""
    columns = min(settings["columns"], len(predictions))
    rows = min(settings["rows"], math.ceil(len(predictions) / columns))
    return draw_gallery(predictions.drop(columns="path"), new.images, {**settings, "columns": columns, "rows": rows})
