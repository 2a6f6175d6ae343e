"""A trained model for use outside of the project."""

from typing import Any

from aezsl.kinds import Name, Settings, Text
from aezsl.methods import MethodRun, in_setting
from aezsl.reporting.names import PredictSettings
from aezsl.reporting.results import Results
from aezsl.serving.card import clip_benchmark_results, model_card
from aezsl.serving.model_file import ModelFolder
from aezsl.serving.photos import PHOTOS, photo_model
from aezsl.serving.trained import TrainedModel

#: Of the network that the photo model takes its knowledge from; of what its classes are called.
NETWORK_LICENCE = "Apache-2.0 (network), WordNet 3.0 licence (names)"


class ExportSettings(Settings):
    """The model of one method for MLflow, with a card and results in the form of CLIP_benchmark.

    To put a copy into MLflow's model registry, name it on the command line:
    --params=method=aezsl,export.register=birds.
    """

    benchmark: Name = ""
    """What the card calls the data. It follows from the environment."""
    licence: Text = "unknown"
    """Of the data, for the card."""


def export(models: ModelFolder, settings: PredictSettings) -> TrainedModel:
    """The model of the method that the command names, or the photo model, to be saved as MLflow keeps models."""
    return photo_model() if settings.method == PHOTOS else models.load(settings.method)


def describe(
    models: ModelFolder, results: Results, predict: PredictSettings, settings: ExportSettings
) -> tuple[str, dict[str, Any]]:
    """The model's card, and its results in the form of CLIP_benchmark."""
    method, trained = predict.method, export(models, predict)
    if method == PHOTOS:
        return model_card(trained, "ImageNet", None, None, NETWORK_LICENCE), {}
    summary = in_setting("summary", MethodRun.parse(method).setting)
    metrics = results.mapping(method, "metrics") if results.is_current(method) else None
    card = model_card(trained, settings.benchmark, metrics, results.mapping("problem", summary), settings.licence)
    return card, clip_benchmark_results(trained, settings.benchmark, metrics)
