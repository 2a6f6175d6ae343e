"""Trained models, classifiers and networks' weights as catalog entries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from kedro.io import AbstractDataset

from aezsl.datasets.places import PlaceDataset
from aezsl.errors import DataError, NotReadyError
from aezsl.methods import TargetClassifier, ZeroShotClassifier
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.serving.model_file import (
    ModelFolder,
    load_classifier,
    load_fitted,
    load_trained,
    save_classifier,
    save_fitted,
    save_trained,
)
from aezsl.serving.trained import TrainedModel

T = TypeVar("T")


class FileDataset(AbstractDataset[T, T]):
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


class TrainedModelDataset(FileDataset[TrainedModel]):
    """A fitted method and its recipe: see ``aezsl.serving.model_file``."""

    _write, _read = save_trained, load_trained


class ClassifierDataset(FileDataset[TargetClassifier]):
    """A fitted method after it has met its targets."""

    _write, _read = save_classifier, load_classifier


class FittedDataset(FileDataset[ZeroShotClassifier]):
    """A fitted method alone, until its recipe is known."""

    _write, _read = save_fitted, load_fitted


class ModelFolderDataset(PlaceDataset[ModelFolder]):
    """The trained models of a benchmark: who needs one names its method."""

    why = "models are saved by the pipelines that train them"
    opens = ModelFolder


class WeightsDataset(AbstractDataset[dict[str, Any], Path]):
    """A state dict in a ``.pt`` file, written whole or not at all. Loads its path, as backbones take weights."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata
        if self._filepath.suffix != ".pt":
            raise DataError(f"weights are kept in a .pt file, got {filepath}")

    def save(self, data: dict[str, Any]) -> None:
        """Write the file."""
        CheckpointFolder(self._filepath.parent).save(self._filepath.stem, data)

    def load(self) -> Path:
        """Where the file is."""
        if not self._filepath.is_file():
            raise NotReadyError(f"no weights at {self._filepath}: train first")
        return self._filepath

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
