"""A problem and its recipe as catalog entries, so that a run can begin behind the node that assembles them."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import Normaliser
from aezsl.data.problem import Problem
from aezsl.datasets.models import FileDataset
from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError
from aezsl.formats.npz import check_unchanged, load_npz, save_npz

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
