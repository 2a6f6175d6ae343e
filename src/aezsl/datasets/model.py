"""Trained models as catalog entries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from kedro.io import AbstractDataset

from aezsl.methods import ZeroShotClassifier
from aezsl.serving.model_file import load_model, load_recipe, save_model, save_recipe
from aezsl.serving.recipe import Recipe

T = TypeVar("T")


class _FileDataset(AbstractDataset[T, T]):
    """One file by a pair of functions."""

    _write: ClassVar[Callable[[Path, Any], None]]
    _read: ClassVar[Callable[[Path], Any]]

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: T) -> None:
        """Write the file, whole or not at all."""
        type(self)._write(self._filepath, data)

    def load(self) -> T:
        """What was saved."""
        loaded: T = type(self)._read(self._filepath)
        return loaded

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class ModelDataset(_FileDataset[ZeroShotClassifier]):
    """A fitted method: see ``aezsl.serving.model_file``."""

    _write, _read = save_model, load_model


class RecipeDataset(_FileDataset[Recipe]):
    """The recipe beside the model."""

    _write, _read = save_recipe, load_recipe
