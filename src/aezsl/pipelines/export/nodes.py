"""A trained model for use outside of the project."""

from typing import Any

from aezsl.serving.model_file import ModelFolder
from aezsl.serving.trained import TrainedModel


def export(models: ModelFolder, settings: dict[str, Any]) -> TrainedModel:
    """The model of the method that the command names, to be saved as MLflow keeps models."""
    return models.load(settings["method"])
