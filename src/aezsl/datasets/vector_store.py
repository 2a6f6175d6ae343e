"""Vectors by id in Parquet shards that grow, survive interruption and remember what computed them."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from kedro.io import AbstractDataset, DatasetError

from aezsl.vectors import AnyVectors, StreamedVectors, VectorChunk, Vectors

MANIFEST = "manifest.json"


class VectorStoreDataset(AbstractDataset[VectorChunk, AnyVectors]):
    """A folder of Parquet shards (``<key>``, digest, vector: fixed_size_list<float32>).

    ``save`` adds one chunk as one shard; a node that yields chunks therefore loses at most one when it is
    interrupted. Shards live in a folder per fingerprint of what computed them, and the manifest says which one
    counts: changing the backbone starts a new folder, changing back finds the old one. Every file is written
    beside its place and then renamed, so nothing half-written is ever read.

    streamed: vectors stay in their shards and are read when they are asked for, where all would not fit in memory.
    """

    def __init__(
        self,
        *,
        filepath: str,
        key: str = "image_id",
        streamed: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.folder = Path(filepath)
        self.key = key
        self.streamed = streamed
        self.metadata = metadata

    def save(self, data: VectorChunk) -> None:
        """Add a chunk, and make its fingerprint the current one."""
        shards = self.folder / data.fingerprint
        shards.mkdir(parents=True, exist_ok=True)
        if len(data.ids):
            table = pa.table(
                {
                    self.key: pa.array(data.ids, pa.string()),
                    "digest": pa.array(data.digests, pa.string()),
                    "vector": _vector_column(data.vectors),
                }
            )
            # Numbered, so that a vector computed anew comes after the one it replaces.
            number = max((int(path.stem) for path in shards.glob("*.parquet")), default=-1) + 1
            _write_atomically(shards / f"{number:06d}.parquet", lambda path: pq.write_table(table, path))
        manifest = {"fingerprint": data.fingerprint, "config": data.config}
        if self._manifest() != manifest:
            text = json.dumps(manifest, indent=2)
            _write_atomically(self.folder / MANIFEST, lambda path: path.write_text(text, encoding="utf-8"))

    def load(self) -> AnyVectors:
        """All vectors of the current fingerprint; of a repeated id the newest."""
        manifest = self._manifest()
        if manifest is None:
            raise DatasetError(f"no vectors at {self.folder}: run the pipeline that computes them first")
        return self._in_shards(manifest) if self.streamed else self._in_memory(manifest)

    def _in_memory(self, manifest: dict[str, Any]) -> Vectors:
        table = self._read(manifest["fingerprint"], [self.key, "vector"])
        if table is None:
            raise DatasetError(f"no vectors in {self.folder / manifest['fingerprint']}")
        ids, matrix = table[self.key].to_numpy(), _matrix(table)
        keep = ~pd.Index(ids).duplicated(keep="last")
        if not keep.all():
            ids, matrix = ids[keep], matrix[keep]
        return Vectors(ids, matrix, manifest["fingerprint"], manifest["config"])

    def _in_shards(self, manifest: dict[str, Any]) -> StreamedVectors:
        shards = self._shards(manifest["fingerprint"])
        tables = [self._read_shard(path, [self.key]) for path in shards]
        if not tables:
            raise DatasetError(f"no vectors in {self.folder / manifest['fingerprint']}")
        ids = pa.concat_tables(tables)[self.key].to_numpy()
        shard = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        row = np.concatenate([np.arange(len(table)) for table in tables])
        keep = ~pd.Index(ids).duplicated(keep="last")

        def read(number: int) -> np.ndarray:
            return _matrix(self._read_shard(shards[number], ["vector"]))

        return StreamedVectors(ids[keep], shard[keep], row[keep], read, manifest["fingerprint"], manifest["config"])

    def known(self, fingerprint: str) -> dict[str, str]:
        """What is stored under a fingerprint already: id -> digest of what it was computed from."""
        table = self._read(fingerprint, [self.key, "digest"])
        if table is None:
            return {}
        return dict(zip(table[self.key].to_pylist(), table["digest"].to_pylist(), strict=True))

    def preview(self, nrows: int = 5) -> Any:
        """The first rows, for kedro-viz."""
        from kedro_datasets._typing import TablePreview

        vectors = self.load()
        rows = [
            [str(name), f"[{', '.join(f'{value:.3f}' for value in row[:4])}, …] ({len(row)})"]
            for name, row in zip(vectors.ids[:nrows], vectors.take(np.arange(len(vectors.ids))[:nrows]), strict=True)
        ]
        return TablePreview({"index": list(range(len(rows))), "columns": [self.key, "vector"], "data": rows})

    def _read(self, fingerprint: str, columns: list[str]) -> pa.Table | None:
        tables = [self._read_shard(path, columns) for path in self._shards(fingerprint)]
        return pa.concat_tables(tables) if tables else None

    def _shards(self, fingerprint: str) -> list[Path]:
        return sorted((self.folder / fingerprint).glob("*.parquet"))

    @staticmethod
    def _read_shard(path: Path, columns: list[str]) -> pa.Table:
        try:
            return pq.read_table(path, columns=columns)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise DatasetError(f"{path} cannot be read ({error}); delete it and run again") from error

    def _manifest(self) -> dict[str, Any] | None:
        try:
            manifest: dict[str, Any] = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return manifest

    def _exists(self) -> bool:
        return self._manifest() is not None

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self.folder), "key": self.key}


class VectorCacheDataset(VectorStoreDataset):
    """The same folder seen as a cache: loads the store itself, so that a node can ask what it has already."""

    def load(self) -> "VectorCacheDataset":  # type: ignore[override]
        """The store, existing or not."""
        return self

    def save(self, data: VectorChunk) -> None:
        """Refuse: chunks are saved through the store."""
        raise DatasetError("a cache is only read; save to the store of the same folder")

    def preview(self, nrows: int = 5) -> Any:
        """Nothing that the store does not show."""
        return None

    def _exists(self) -> bool:
        return True


def _matrix(table: pa.Table) -> np.ndarray:
    column = table["vector"].combine_chunks()
    matrix: np.ndarray = column.flatten().to_numpy(zero_copy_only=False).reshape(len(table), column.type.list_size)
    return matrix


def _vector_column(vectors: np.ndarray) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def _write_atomically(path: Path, write: Any) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
