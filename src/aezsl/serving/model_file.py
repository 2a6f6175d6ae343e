"""Trained models and adapted classifiers on disk: numbers and a description, never code.

Loading looks the method up in the registry and runs nothing from the file (no pickle), so that a model from a stranger
is safe to load. A model and its recipe are one file: neither can be mistaken for that of another run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.errors import DataError
from aezsl.formats.npz import load_npz, save_npz
from aezsl.methods import METHODS, TargetClassifier, ZeroShotClassifier, make_method, method_name
from aezsl.serving.recipe import Recipe
from aezsl.serving.trained import TrainedModel

#: Raised when files of an older version cannot be read any more.
VERSION = 3


def save_trained(path: Path, trained: TrainedModel) -> None:
    """Model and recipe as one ``.npz`` file, written whole or not at all."""
    header, arrays = _model_parts(trained.model)
    recipe_header, recipe_arrays = trained.recipe.state()
    save_npz(path, {**header, "recipe": recipe_header}, {**arrays, **_prefixed("recipe", recipe_arrays)})


def load_trained(path: Path) -> TrainedModel:
    """What ``save_trained`` saved."""
    header, arrays = load_npz(path, "a trained model", VERSION, ("method", "parameters", "scalars", "recipe"))
    recipe = Recipe.from_state(header["recipe"], _part("recipe", arrays))
    return TrainedModel(_load_model(header, arrays), recipe)


def save_classifier(path: Path, classifier: TargetClassifier) -> None:
    """A fitted method after it has met its targets, as one ``.npz`` file."""
    header, arrays = _model_parts(classifier.model)
    save_npz(path, header, {**arrays, **_prefixed("classifier", classifier.state())})


def load_classifier(path: Path) -> TargetClassifier:
    """What ``save_classifier`` saved."""
    header, arrays = load_npz(path, "an adapted classifier", VERSION, ("method", "parameters", "scalars"))
    return _load_model(header, arrays).restore(_part("classifier", arrays))


class ModelFolder:
    """The trained models of one benchmark, ``<method>/model.npz`` below a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def trained(self) -> list[str]:
        """Methods that have a model."""
        return sorted(path.parent.name for path in self.folder.glob("*/model.npz"))

    def load(self, method: str) -> TrainedModel:
        """The model of a method; an error says how to make it."""
        path = self.folder / method / "model.npz"
        if path.is_file():
            return load_trained(path)
        if method.removeprefix("gzsl_") not in METHODS and method not in self.trained():
            raise DataError(f"unknown method {method!r}; trained here are: {', '.join(self.trained()) or 'none'}")
        raise DataError(
            f"{method} has not been trained yet on {self.folder.name}: run kedro run --pipeline={method} first, with "
            f"the same --env and --params; trained are: {', '.join(self.trained()) or 'none'}"
        )


def _model_parts(model: ZeroShotClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    state = model.get_state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    scalars = {key: value for key, value in state.items() if key not in arrays}
    header = {
        "version": VERSION,
        "method": method_name(model),
        "parameters": model.get_params(),
        "scalars": scalars,
    }
    return header, _prefixed("model", arrays)


def _load_model(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> ZeroShotClassifier:
    model = make_method(header["method"], **header["parameters"])
    return model.set_state({**_part("model", arrays), **header["scalars"]})


def _prefixed(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{part}.{name}": value for name, value in arrays.items()}


def _part(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(f"{part}."): value for name, value in arrays.items() if name.startswith(f"{part}.")}
