"""New images, named by a trained model."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import Vectors, VectorSet
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.formats.new_images import NewImages
from aezsl.methods import ZeroShotClassifier
from aezsl.pipelines.evaluation.nodes import TOP
from aezsl.reporting.gallery import draw_gallery
from aezsl.serving.recipe import Recipe, TrainedModel


def extract_new(
    new: NewImages, store: VectorStore, recipe: Recipe, predict: dict[str, Any], extraction: dict[str, Any]
) -> tuple[VectorSet, dict[str, str]]:
    """Features of the new images, by the backbone that the model was trained with."""
    return extract_to_store(recipe.make_backbone(predict["backbone"]), new.images, store, extraction)


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
    """The picture sheet."""
    return draw_gallery(predictions.drop(columns="path"), new.images, settings)
