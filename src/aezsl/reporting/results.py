"""What finished runs have left on disk, whichever runs those were."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pandas as pd

from aezsl.data.spreadsheet import unescape_formulas
from aezsl.errors import DataError
from aezsl.methods import MethodRun, in_setting

#: Files that are results.
ENDINGS = (".json", ".csv", ".png", ".parquet")

#: Kind of result -> entries or columns without which it is not one; those of numbers are of numbers alone.
ENTRIES = {
    "summary": ("n_seen", "n_unseen", "n_train", "n_test", "n_features", "n_semantics"),
    "gzsl_summary": ("n_seen", "n_unseen", "n_train", "n_test", "n_features", "n_semantics"),
    "cases": ("why", "rescued", "lost", "attributes"),
    "mapping": ("class_name", "moved", "moved_others", "classifier_cosine", "weights", "n_seen", "weight_share"),
}
NUMBERS = re.compile(r"n_\w+|\w+_seconds|\w+_mb|moved|weight_share|classifier_cosine|images|accuracy|mean|std")
#: No result is further from 0.
MOST = 1e15
COLUMNS = {"per_class": ("class_name", "images", "accuracy"), "selection": ("mean",)}


class Results:
    """Files by the name of what made them (``MethodRun.name``) and kind.

    Kinds are file names without their endings; only pictures keep theirs. Reading is lazy, and what does not exist
    is None, which tells the caller that it was not made.
    """

    def __init__(self, files: Mapping[tuple[str, str], Path]) -> None:
        self._files = dict(files)

    @classmethod
    def scan(cls, folders: Sequence[Path], files: Mapping[str, Path]) -> Self:
        """All of ``<folder>/<name>/<kind>.<ending>``, see ``ENDINGS``; and single files, under the name ``problem``."""
        found = {
            (path.parent.name, path.stem if path.suffix != ".png" else path.name): path
            for folder in folders
            for path in sorted(folder.glob("*/*"))
            if path.suffix in ENDINGS
        }
        return cls(found | {("problem", kind): path for kind, path in files.items() if path.is_file()})

    @property
    def names(self) -> list[str]:
        """All names that have any result."""
        return sorted({name for name, _ in self._files})

    @property
    def stale(self) -> list[str]:
        """Results of another split, seed or set of features, which must not stand beside the present ones."""
        return [name for name in self.names if self.path(name, "metrics") and not self.is_current(name)]

    def is_current(self, name: str) -> bool:
        """False where a result is known to be of another problem than the present one."""
        summary = in_setting("summary", MethodRun.parse(name).setting)
        now, then = self.mapping("problem", summary), self.mapping(name, "record")
        if now is None or then is None:  # nothing known against it
            return True
        return bool(now.get("problem_fingerprint") == then.get("problem_fingerprint"))

    def path(self, name: str, kind: str) -> Path | None:
        """Where a result lies."""
        return self._files.get((name, kind))

    def picture(self, name: str, kind: str) -> Path | None:
        """Where the figure of that kind lies, unless it is of another problem than the present one."""
        return self.path(name, f"{kind}.png") if self.is_current(name) else None

    def mapping(self, name: str, kind: str) -> dict[str, Any] | None:
        """A result that is a JSON object."""
        path = self.path(name, kind)
        if path is None:
            return None
        with self._read(name, path, "a JSON object"):
            value = json.loads(path.read_text(encoding="utf-8"), parse_int=_whole)
            if not isinstance(value, dict):
                raise ValueError(f"it is of type {type(value).__name__}")
            _check_entries(value, ENTRIES.get(kind, ()))
            if kind == "mapping":
                _check_mapping(value)
            known = {key: entry for key, entry in value.items() if entry is not None}
            _check_numbers(kind, {key: [entry] for key, entry in known.items()})
            return known if kind in ("metrics", "record") else value

    def predictions(self, name: str) -> pd.DataFrame | None:
        """What every test image is and was called: image_id, true, predicted."""
        path = self.path(name, "predictions")
        if path is None:
            return None
        with self._read(name, path, "a table of predictions"):
            return pd.read_parquet(path, columns=["image_id", "true", "predicted"])

    def table(self, name: str, kind: str) -> pd.DataFrame | None:
        """A result that is a CSV table."""
        path = self.path(name, kind)
        if path is None:
            return None
        with self._read(name, path, "a table"):
            try:
                found = pd.read_csv(path)
                if "class_name" in found:  # a class may be called 7, or NA
                    names = pd.read_csv(path, usecols=["class_name"], dtype=str, na_filter=False)
                    found["class_name"] = names["class_name"].astype(object)
            except pd.errors.EmptyDataError:
                return None
            _check_entries(found, COLUMNS.get(kind, ()))
            _check_numbers(kind, {str(column): found[column].tolist() for column in found})
            return unescape_formulas(found)

    @staticmethod
    @contextmanager
    def _read(name: str, path: Path, what: str) -> Iterator[None]:
        """Tell in a sentence what is wrong with the file of a result."""
        try:
            yield
        except (ValueError, OSError) as error:  # pyarrow's errors are ValueErrors
            reason = " ".join(str(error).split())
            raise DataError(f"{path} cannot be read as {what} ({reason}): run {name} again, or delete it") from error


def _whole(digits: str) -> int:
    if len(digits) > 16:
        raise ValueError(f"no number of a result has {len(digits)} digits")
    return int(digits)


def _check_mapping(value: Mapping[str, Any]) -> None:
    others, weights = value["moved_others"], value["weights"]
    if not isinstance(others, dict) or not others or not isinstance(weights, list):
        raise ValueError("moved_others must be an object with entries, weights a list")
    if not isinstance(value["class_name"], str):
        raise ValueError(f"class_name must be a name, got {value['class_name']!r}")
    _check_numbers("metrics", {name: [moved] for name, moved in others.items()})


def _check_entries(found: Collection[Any], needed: Sequence[str]) -> None:
    if missing := [entry for entry in needed if entry not in found]:
        raise ValueError(f"it has no {', '.join(missing)}")


def _is_number(kind: str, name: str) -> bool:
    return kind == "metrics" or NUMBERS.fullmatch(name) is not None


def _check_numbers(kind: str, found: Mapping[str, Sequence[Any]]) -> None:
    """Refuse values that cannot be meant where only numbers can stand; one that is not known is no fault."""
    for name, values in found.items():
        for value in values if _is_number(kind, name) else ():
            if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > MOST:
                raise ValueError(f"{name} must be a number, got {value!r}"[:200])
            if name.startswith("n_") and value < 0:
                raise ValueError(f"{name} must not be below 0, got {value!r}")
            if name == "n_unseen" and not value > 0:  # the page divides by it; of other things there may be none
                raise ValueError(f"{name} must be above 0, got {value!r}")
