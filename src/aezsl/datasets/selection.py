"""The scores of a selection as a catalog entry."""

from typing import Any

from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.selection import SelectionStore


class SelectionDataset(ReadOnlyDataset[SelectionStore]):
    """Loads the store itself, existing or not: selection reads what a former run left and writes its own table."""

    why = "the table is written by the selection itself"

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._filepath = filepath

    def load(self) -> SelectionStore:
        """The store."""
        return SelectionStore(self._filepath)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
