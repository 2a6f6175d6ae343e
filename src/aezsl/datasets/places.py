"""Catalog entries that are only read, and places that nodes read and write themselves."""

from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from kedro.io import AbstractDataset, DatasetError

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import NamedVectors, VectorSet
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.selection import SelectionStore, SelectionStores

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


class CheckpointDataset(PlaceDataset[CheckpointFolder]):
    """The folder of a training's checkpoints."""

    why = "checkpoints are written by the training itself"
    opens = CheckpointFolder


class SelectionDataset(PlaceDataset[SelectionStore]):
    """The store of a selection, which reads what a former run left and writes its own table."""

    why = "the table is written by the selection itself"
    opens = SelectionStore


class SelectionsDataset(ReadOnlyDataset[SelectionStores]):
    """Stores of many selections or measurements, one file each; ``pattern`` says where, with ``{}`` for the name."""

    why = "the tables are written by the node that makes them"

    def __init__(self, *, filepath: str, pattern: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._stores = SelectionStores(filepath, pattern)

    def load(self) -> SelectionStores:
        """The folder."""
        return self._stores

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._stores.folder), "pattern": self._stores.pattern}


class MappedArraysDataset(PlaceDataset[MappedArrays | None]):
    """The folder; None where no place is named, and features stay in memory."""

    why = "mapped arrays are written by the node that makes them"

    @staticmethod
    def opens(path: str | None) -> MappedArrays | None:
        """The folder, if there is one."""
        return None if path is None else MappedArrays(path)


class VectorStoreDataset(ReadOnlyDataset[VectorStore]):
    """Loads the store itself, existing or not: a node asks it what it has, and adds what is missing as it works."""

    why = "shards are written by the node that computes them"

    def __init__(self, *, filepath: str, key: str = "image_id", metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._store = VectorStore(filepath, key)

    def load(self) -> VectorStore:
        """The store."""
        return self._store

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._store.folder), "key": self._store.key}


class VectorsDataset(AbstractDataset[VectorSet, NamedVectors]):
    """The manifest of a store: saving says which vectors are in use, loading gives them.

    streamed : vectors stay in their shards and are read when they are asked for.
    """

    def __init__(
        self,
        *,
        filepath: str,
        key: str = "image_id",
        streamed: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._filepath = Path(filepath)
        self._store = VectorStore(self._filepath.parent, key, streamed)
        self.metadata = metadata

    def save(self, data: VectorSet) -> None:
        """Make these the vectors in use."""
        self._store.use(data)

    def load(self) -> NamedVectors:
        """All vectors in use."""
        return self._store.load()

    def preview(self, nrows: int = 5) -> Any:
        """The first rows, for kedro-viz."""
        from kedro_datasets._typing import TablePreview

        vectors = self.load()
        rows = [
            [str(name), f"[{', '.join(f'{value:.3f}' for value in row[:4])}, …] ({len(row)})"]
            for name, row in zip(vectors.ids[:nrows], vectors.take(np.arange(len(vectors.ids))[:nrows]), strict=True)
        ]
        return TablePreview({"index": list(range(len(rows))), "columns": [self._store.key, "vector"], "data": rows})

    def _exists(self) -> bool:
        return self._store.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "key": self._store.key}
