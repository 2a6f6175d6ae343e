"""What all catalog entries that are only read have in common."""

from typing import Any, ClassVar, TypeVar

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


class PlaceDataset(ReadOnlyDataset[T]):
    """Loads the place itself, existing or not: who asks for it reads and writes there while a node runs."""

    #: Makes what is loaded of the place's path.
    opens: ClassVar[Any]

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._filepath = filepath

    def load(self) -> T:
        """The place."""
        place: T = type(self).opens(self._filepath)
        return place

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
