"""What finished runs have left on disk, whichever runs those were."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from aezsl.data.spreadsheet import unescape_formulas
from aezsl.errors import DataError

#: Files that are results.
ENDINGS = (".json", ".csv", ".png", ".parquet")


class Results:
    """Files by the name of what made them (a method, in the generalized setting with ``gzsl_`` before it) and kind.

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
        setting = "gzsl_summary" if name.startswith("gzsl_") else "summary"
        now, then = self.mapping("problem", setting), self.mapping(name, "record")
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
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{path} is not valid JSON ({error}): run {name} again, or delete it") from error
        return dict(value)

    def predictions(self, name: str) -> pd.DataFrame | None:
        """What every test image is and was called: image_id, true, predicted."""
        path = self.path(name, "predictions")
        if path is None:
            return None
        try:
            return pd.read_parquet(path, columns=["image_id", "true", "predicted"])
        except (ValueError, OSError) as error:  # pyarrow's errors are ValueErrors
            raise DataError(f"{path} cannot be read ({error}): run {name} again, or delete it") from error

    def table(self, name: str, kind: str) -> pd.DataFrame | None:
        """A result that is a CSV table."""
        path = self.path(name, kind)
        if path is None:
            return None
        try:
            return unescape_formulas(pd.read_csv(path))
        except pd.errors.ParserError as error:
            raise DataError(f"{path} is not a table ({error}): run {name} again, or delete it") from error
        except pd.errors.EmptyDataError:
            return None
