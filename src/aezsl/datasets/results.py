"""What finished runs have left, as a catalog entry."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.reporting.results import Results


class ResultsDataset(ReadOnlyDataset[Results]):
    """Scans folders and single files: see ``Results.scan``.

    folders : folders whose subfolders are named after what made the results. They need not exist.
    files : further single files by kind.
    """

    why = "results are written by the runs that make them, through the entries of catalog_08_reporting.yml"

    def __init__(
        self, *, folders: Sequence[str], files: Mapping[str, str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        super().__init__(metadata=metadata)
        self._folders = [Path(folder) for folder in folders]
        self._single = {kind: Path(path) for kind, path in (files or {}).items()}

    def load(self) -> Results:
        """Everything there is now."""
        return Results.scan(self._folders, self._single)

    def _describe(self) -> dict[str, Any]:
        return {"folders": [str(folder) for folder in self._folders]}
