"""Stores of vectors as catalog entries: the folder of shards, and the manifest that says which of them are in use."""

from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import NamedVectors, VectorSet
from aezsl.datasets.read_only import ReadOnlyDataset


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
