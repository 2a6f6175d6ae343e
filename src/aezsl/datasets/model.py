"""Fitted methods on disk: numbers and a description, never code."""

from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset, DatasetError

from aezsl.datasets._npz import load_npz, save_npz
from aezsl.methods import METHODS, ZeroShotClassifier, make_method
from aezsl.recipe import Recipe


class ModelDataset(AbstractDataset[ZeroShotClassifier, ZeroShotClassifier]):
    """A fitted method as one ``.npz`` file: its arrays, and its name and parameters as JSON.

    Loading looks the method up in the registry and runs nothing from the file (no pickle), so that a model
    from a stranger is safe to load.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: ZeroShotClassifier) -> None:
        """Write the file."""
        path = f"{type(data).__module__}:{type(data).__name__}"
        name = next((name for name, registered in METHODS.items() if registered == path), None)
        if name is None:
            raise DatasetError(f"{path} is not a registered method; add it to aezsl.methods.METHODS")
        state = data.get_state()
        arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
        scalars = {key: value for key, value in state.items() if key not in arrays}
        save_npz(self._filepath, {"method": name, "parameters": data.get_params(), "scalars": scalars}, arrays)

    def load(self) -> ZeroShotClassifier:
        """The fitted method."""
        header, arrays = load_npz(self._filepath, "a model")
        return make_method(header["method"], **header["parameters"]).set_state({**arrays, **header["scalars"]})

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class RecipeDataset(AbstractDataset[Recipe, Recipe]):
    """How images and classes became the numbers that a model was trained on, as one ``.npz`` file beside the model."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: Recipe) -> None:
        """Write the file."""
        save_npz(self._filepath, *data.state())

    def load(self) -> Recipe:
        """The recipe."""
        return Recipe.from_state(*load_npz(self._filepath, "a recipe"))

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
