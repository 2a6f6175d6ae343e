"""Names of images as a table for people, and images sorted by name."""

from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.formats.sorted_folders import sorted_places
from aezsl.kinds import Settings, Text


def list_names(predictions: pd.DataFrame) -> pd.DataFrame:
    """Image, name with its probability, and the runner-up with its own; the true name where it is known.

    Where the best class is too improbable for a name, that is its group, or "none of these"; ``best`` has it always.
    """
    table = pd.DataFrame(
        {
            "image": predictions["image_id"],
            "name": given_names(predictions),
            "best": predictions["predicted"],
            "probability": predictions["probability"],
            "runner_up": predictions.get("top_2"),  # none where there is a single class to choose
            "runner_up_probability": predictions.get("top_2_probability"),
        }
    )
    if "group" in predictions:
        table["group_probability"] = predictions["group_probability"]
    if predictions["true"].notna().any():
        table["true_name"] = predictions["true"]
    return table


def given_names(predictions: pd.DataFrame) -> pd.Series:
    """What every image is called: its best class, its group where that is given, or "none of these"."""
    named = predictions["predicted"].mask(predictions["none_of_these"].astype(bool), NONE_OF_THESE)
    return named.mask(predictions["group"] != "", predictions["group"]) if "group" in predictions else named


@dataclass(frozen=True)
class SortedImages:
    """Files to be put in order: place below the folder -> where the image is."""

    how: str | None = None  # copies or links; None: nobody asked for it
    files: dict[str, str] = field(default_factory=dict)


class PredictSettings(Settings):
    """Naming new images by a trained model.

    Which model, images and classes is for the command line to say:
    --params=method=aezsl,predict.images=<folder>,predict.classes=<table>.
    """

    method: Text = "aezsl"
    """Whose model is used, by predict and export. It follows from --params=method=..."""
    model: Text | None = None
    """Instead, one of MLflow's model registry: models:/<name>/<version>, or models:/<name>@<alias>."""
    backbone: Text | None = None
    """The one of training. It must be named where training had its features from a file."""
    sorted: Literal["copies", "links"] | None = None
    """copies or links: the images in folders by name too, beside new_predictions.csv."""


def sort_images(predictions: pd.DataFrame, settings: PredictSettings) -> SortedImages:
    """A folder for every name that was given, and one for images that show none of the classes.

    predictions : with image_id, predicted, none_of_these and path. settings : ``sorted``, how files get there.
    """
    if settings.sorted is None:
        return SortedImages()
    named = given_names(predictions).astype(str).tolist()
    places = sorted_places(predictions["image_id"].astype(str).tolist(), named)
    return SortedImages(settings.sorted, dict(zip(places, predictions["path"].astype(str), strict=True)))
