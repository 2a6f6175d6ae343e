"""Trained models, classifiers and networks' weights as catalog entries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from kedro.io import AbstractDataset

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import Normaliser
from aezsl.data.problem import Problem
from aezsl.datasets.places import PlaceDataset
from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError, NotReadyError
from aezsl.formats.npz import check_unchanged, load_npz, save_npz
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


#: Raised when files of an older version cannot be read any more.
VERSION = 4

#: Matrices that lie in mapped files of their own where the problem has a store.
FEATURES = ("X_train", "X_test")
ARRAYS = (*FEATURES, "y_train", "y_test", "S_seen", "S_unseen")
LISTS = ("seen_names", "unseen_names", "test_ids")
NORMALISERS = ("feature_normaliser", "semantic_normaliser")


class ProblemDataset(AbstractDataset[Problem, Problem]):
    """One ``.npz`` file (numbers and a header, no pickle), which is checked against its fingerprint when it is read.

    Nodes of one process are all given the same object, as if it had never left the memory: methods share what it
    keeps of decompositions. Other processes read the file.

    store : ``filepath`` of the folder (the entry ``problem_store``) where features larger than the memory lie in mapped
        files; the problem's own file has only the rest.
    """

    def __init__(
        self, *, filepath: str, store: dict[str, str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self._filepath = Path(filepath)
        self._mapped = None if store is None else MappedArrays(store["filepath"])
        self.metadata = metadata
        self._problem: Problem | None = None

    def save(self, data: Problem) -> None:
        """Write the file, whole or not at all."""
        header: dict[str, Any] = {name: getattr(data, name) for name in ("setting", *LISTS, "ways")}
        arrays = {name: getattr(data, name) for name in ARRAYS if self._mapped is None or name not in FEATURES}
        if data.given is not None:
            arrays["given"] = data.given
        for name in NORMALISERS:
            normaliser: Normaliser = getattr(data, name)
            header[name] = list(normaliser.steps)
            arrays |= {f"{name}.{key}": value for key, value in normaliser.statistics.items()}
        save_npz(self._filepath, {"version": VERSION, "fingerprint": data.fingerprint, **header}, arrays)
        self._problem = data

    def load(self) -> Problem:
        """The problem that was saved last."""
        if self._problem is None:
            self._problem = self._read()
        return self._problem

    def _read(self) -> Problem:
        required = ("fingerprint", "setting", *LISTS, "ways", *NORMALISERS)
        header, arrays = load_npz(self._filepath, "a problem", VERSION, required)
        if self._mapped is not None:
            arrays |= {name: self._mapped.read(f"{header['setting']}_{name[2:]}") for name in FEATURES}
        if missing := [name for name in ARRAYS if name not in arrays]:
            raise DataError(f"{self._filepath} has no {', '.join(missing)}: run the pipeline without --from-nodes")
        parts: dict[str, Any] = {name: arrays[name] for name in ARRAYS}
        parts |= {name: header[name] for name in ("setting", *LISTS, "ways")} | {"given": arrays.get("given")}
        problem = Problem(**parts | {name: _normaliser(name, header, arrays) for name in NORMALISERS})
        if problem.fingerprint != header["fingerprint"]:
            raise DataError(
                f"{self._filepath} should hold the problem {header['fingerprint']}, but its arrays are those of "
                f"{problem.fingerprint}: another run has changed them; run the pipeline without --from-nodes"
            )
        return problem

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _release(self) -> None:
        self._problem = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_problem": None}

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "store": self._mapped and str(self._mapped.folder)}


def _normaliser(name: str, header: dict[str, Any], arrays: dict[str, Any]) -> Normaliser:
    own = {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
    return Normaliser(tuple(header[name]), own)


def _write_recipe(path: Path, recipe: Recipe) -> None:
    header, arrays = recipe.state()
    save_npz(path, {"version": VERSION, "recipe": header}, arrays)


def _read_recipe(path: Path) -> Recipe:
    header, arrays = load_npz(path, "a recipe", VERSION, ("recipe",))
    recipe = Recipe.from_state(header["recipe"], arrays)
    check_unchanged(header, arrays)
    return recipe


class RecipeDataset(FileDataset[Recipe]):
    """How images and classes became the numbers of a problem."""

    _write, _read = _write_recipe, _read_recipe
