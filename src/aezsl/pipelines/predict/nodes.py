"""New images, named by a trained model."""

import logging

import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import Vectors, VectorSet
from aezsl.encoders.images.extraction import UnreadableImagesError
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.formats.image_folders import NewImages
from aezsl.reporting.figures import Figure
from aezsl.reporting.gallery import GallerySettings, draw_gallery
from aezsl.reporting.names import PredictSettings
from aezsl.serving.classes import placed
from aezsl.serving.model_file import ModelFolder, load_registered
from aezsl.serving.photos import PHOTOS, photo_model
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)


def load_named(models: ModelFolder, settings: PredictSettings, together: bool = False) -> TrainedModel:
    """The model of the method that the command names, the photo model, or one of MLflow's registry.

    together : for photos that are named as a whole, if the photo model is meant.
    """
    if settings.model:
        return load_registered(settings.model)
    return photo_model(together=together) if settings.method == PHOTOS else models.load(settings.method)


def extract_new(
    new: NewImages, store: VectorStore, models: ModelFolder, settings: PredictSettings, extraction: ExtractionSettings
) -> tuple[VectorSet, dict[str, str]]:
    """Features of the new images, by the backbone that the model was trained with; and which ones cannot be read."""
    encoder = load_named(models, settings).recipe.make_encoder(settings.backbone, extraction.device)
    features, unreadable = encoder.extract(new.images, store, extraction.model_copy(update={"on_error": "skip"}))
    if unreadable and len(unreadable) == len(new.images):
        raise UnreadableImagesError(f"no image can be read: {next(iter(unreadable.values()))}")
    return features, unreadable


def classify(
    models: ModelFolder, settings: PredictSettings, new: NewImages, features: Vectors, unreadable: dict[str, str]
) -> pd.DataFrame:
    """One row per readable image: its name among the given classes, the score, and the next best names."""
    trained = load_named(models, settings, together=bool(new.corrections))
    images = new.images[~new.images["image_id"].isin(set(unreadable))]
    targets = trained.recipe.targets(new.classes, new.attribute_names)
    vectors = features.get(images["image_id"].tolist(), "images", "their features", "run predict again")
    targets, corrections, notes = placed(trained.recipe, targets, images["image_id"].tolist(), new.corrections)
    for note in (*new.doubts, *notes):
        log.warning("%s", note)
    answers = trained.answer(vectors, targets, corrections=corrections).table()
    about = {"label_space": f"{len(targets.names)}", "path": images["path"].to_numpy()}
    return pd.DataFrame({"image_id": images["image_id"].to_numpy(), "true": None, **answers, **about})


def draw_new(predictions: pd.DataFrame, new: NewImages, settings: GallerySettings) -> Figure:
    """The picture sheet."""
    return draw_gallery(predictions.drop(columns="path"), new.images, settings)
