"""Fitted methods and recipes on disk: numbers and a description, never code.

Loading looks the method up in the registry and runs nothing from the file (no pickle), so that a model from a stranger
is safe to load.
"""

from pathlib import Path

import numpy as np

from aezsl.errors import DataError
from aezsl.formats.npz import load_npz, save_npz
from aezsl.methods import METHODS, ZeroShotClassifier, make_method
from aezsl.serving.recipe import Recipe, TrainedModel


def save_model(path: Path, model: ZeroShotClassifier) -> None:
    """A fitted method as one ``.npz`` file: its arrays, and its name and parameters as JSON."""
    place = f"{type(model).__module__}:{type(model).__name__}"
    name = next((name for name, registered in METHODS.items() if registered == place), None)
    if name is None:
        raise DataError(f"{place} is not a registered method; add it to aezsl.methods.METHODS")
    state = model.get_state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    scalars = {key: value for key, value in state.items() if key not in arrays}
    save_npz(path, {"method": name, "parameters": model.get_params(), "scalars": scalars}, arrays)


def load_model(path: Path) -> ZeroShotClassifier:
    """What ``save_model`` saved."""
    header, arrays = load_npz(path, "a model")
    return make_method(header["method"], **header["parameters"]).set_state({**arrays, **header["scalars"]})


def save_recipe(path: Path, recipe: Recipe) -> None:
    """How images and classes became the numbers that a model was trained on, as one ``.npz`` file."""
    save_npz(path, *recipe.state())


def load_recipe(path: Path) -> Recipe:
    """What ``save_recipe`` saved."""
    return Recipe.from_state(*load_npz(path, "a recipe"))


def save_trained(folder: Path, trained: TrainedModel) -> None:
    """Model and recipe as files."""
    save_model(folder / "model.npz", trained.model)
    save_recipe(folder / "recipe.npz", trained.recipe)


def load_trained(folder: Path) -> TrainedModel:
    """What ``save_trained`` saved."""
    return TrainedModel(load_model(folder / "model.npz"), load_recipe(folder / "recipe.npz"))
