"""A trained model for use outside of the project."""

from aezsl.methods import ZeroShotClassifier
from aezsl.serving.recipe import Recipe, TrainedModel


def bundle(model: ZeroShotClassifier, recipe: Recipe) -> TrainedModel:
    """The model and all it takes to use it."""
    return TrainedModel(model, recipe)
