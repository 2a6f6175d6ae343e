"""What finished runs have left on disk, whichever runs those were."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset, DatasetError


class Results:
    """Files by the name of what made them (a method, in the generalized setting with ``gzsl_`` before it) and kind.

    Kinds are file names without their endings. Reading is lazy, and what does not exist is None: to look for a
    result is how a reader learns that it was not made.
    """

    def __init__(self, files: Mapping[tuple[str, str], Path]) -> None:
        self._files = dict(files)

    @property
    def names(self) -> list[str]:
        """All names that have any result."""
        return sorted({name for name, _ in self._files})

    def path(self, name: str, kind: str) -> Path | None:
        """Where a result lies."""
        return self._files.get((name, kind))

    def mapping(self, name: str, kind: str) -> dict[str, Any] | None:
        """A result that is a JSON object."""
        path = self.path(name, kind)
        if path is None:
            return None
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DatasetError(f"{path} is not valid JSON ({error}): run {name} again, or delete it") from error
        return dict(value)

    def table(self, name: str, kind: str) -> pd.DataFrame | None:
        """A result that is a CSV table."""
        path = self.path(name, kind)
        if path is None:
            return None
        try:
            return pd.read_csv(path)
        except pd.errors.ParserError as error:
            raise DatasetError(f"{path} is no table ({error}): run {name} again, or delete it") from error
        except pd.errors.EmptyDataError:
            return None


class ResultsDataset(AbstractDataset[None, Results]):
    """Scans folders of the form ``<folder>/<name>/<kind>.<json|csv|png>``, and single files. Only reads.

    Parameters
    ----------
    folders : list of str
        Folders whose subfolders are named after what made the results. They need not exist.
    files : dict of str to str
        Further single files, found under the name ``problem`` and the given kind.

    """

    ENDINGS = (".json", ".csv", ".png")

    def __init__(
        self, *, folders: Sequence[str], files: Mapping[str, str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self._folders = [Path(folder) for folder in folders]
        self._single = {kind: Path(path) for kind, path in (files or {}).items()}
        self.metadata = metadata

    def load(self) -> Results:
        """Everything there is now."""
        found = {
            (path.parent.name, path.stem if path.suffix != ".png" else f"{path.stem}.png"): path
            for folder in self._folders
            for path in sorted(folder.glob("*/*"))
            if path.suffix in self.ENDINGS
        }
        found |= {("problem", kind): path for kind, path in self._single.items() if path.is_file()}
        return Results(found)

    def save(self, data: None) -> None:
        """Refuse: results are written by the runs that make them."""
        raise DatasetError("results are only read here; the entries of catalog_08_reporting.yml write them")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"folders": [str(folder) for folder in self._folders]}
