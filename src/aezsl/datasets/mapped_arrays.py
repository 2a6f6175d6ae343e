"""Where a problem too large for memory keeps its features, as a catalog entry."""

from typing import Any

from kedro.io import AbstractDataset, DatasetError

from aezsl.mapped_arrays import MappedArrays


class MappedArraysDataset(AbstractDataset[None, MappedArrays | None]):
    """Loads the folder itself, existing or not; None where no place is named, and features stay in memory."""

    def __init__(self, *, filepath: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = filepath
        self.metadata = metadata

    def load(self) -> MappedArrays | None:
        """The folder."""
        return None if self._filepath is None else MappedArrays(self._filepath)

    def save(self, data: None) -> None:
        """Refuse: who needs the folder writes to it."""
        raise DatasetError("mapped arrays are written by the node that makes them")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
