"""Where a problem too large for memory keeps its features, as a catalog entry."""

from typing import Any

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.datasets.read_only import ReadOnlyDataset


class MappedArraysDataset(ReadOnlyDataset[MappedArrays | None]):
    """Loads the folder itself, existing or not; None where no place is named, and features stay in memory."""

    why = "mapped arrays are written by the node that makes them"

    def __init__(self, *, filepath: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._filepath = filepath

    def load(self) -> MappedArrays | None:
        """The folder."""
        return None if self._filepath is None else MappedArrays(self._filepath)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
