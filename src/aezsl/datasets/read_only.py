"""What all catalog entries that are only read have in common."""

from typing import Any, TypeVar

from kedro.io import AbstractDataset, DatasetError

T = TypeVar("T")


class ReadOnlyDataset(AbstractDataset[None, T]):
    """Refuses to save; a subclass says why, and what it reads."""

    #: Why nothing can be saved here.
    why = "it is read-only"

    def __init__(self, *, metadata: dict[str, Any] | None = None) -> None:
        self.metadata = metadata

    def load(self) -> T:
        """Read the data."""
        raise TypeError(f"{type(self).__name__} must define load")

    def save(self, data: None) -> None:
        """Raise an error that says why nothing is saved here."""
        raise DatasetError(f"nothing can be saved to {type(self).__name__}: {self.why}")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {}
