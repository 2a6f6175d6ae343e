"""Vectors by id in Parquet shards that grow, survive interruption and remember what computed them."""

import json
import logging
import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aezsl.arrays import Float32
from aezsl.data.vectors import NamedVectors, SideBySide, StreamedVectors, VectorChunk, Vectors, VectorSet
from aezsl.errors import DataError
from aezsl.machine.files import written_whole

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
#: Files that are shards; whatever else lies beside them is not read.
SHARD = re.compile(r"\d+(-[0-9a-f]+)?\.parquet")


class VectorStore:
    """A folder of Parquet shards (``<key>``, digest, vector: fixed_size_list<float32>).

    ``add`` writes one chunk as one shard; who adds chunk by chunk therefore loses at most one when interrupted.
    Shards live in a folder per fingerprint of what computed them, and the manifest says which one counts: changing
    the backbone starts a new folder, changing back finds the old one. Nothing half-written is ever read. Several sets
    may count together: their vectors then stand side by side.

    streamed: vectors stay in their shards and are read when they are asked for, where all would not fit in memory.
    """

    def __init__(self, folder: str | Path, key: str = "image_id", streamed: bool = False) -> None:
        self.folder = Path(folder)
        self.key = key
        self.streamed = streamed

    def add(self, chunk: VectorChunk) -> None:
        """Write a chunk as a shard of its own; any number of writers may do so at once."""
        shards = self.folder / chunk.fingerprint
        table = pa.table(
            {
                self.key: pa.array(chunk.ids, pa.string()),
                "digest": pa.array(chunk.digests, pa.string()),
                "vector": _vector_column(chunk.vectors),
            }
        )
        # Numbered, so that a vector computed again comes after the one it replaces; two writers may take one number.
        number = max((int(path.stem.partition("-")[0]) for path in self._shards(chunk.fingerprint)), default=-1) + 1
        with written_whole(shards / f"{number:06d}-{uuid.uuid4().hex[:8]}.parquet") as path:
            pq.write_table(table, path, write_page_checksum=True)

    def use(self, vectors: VectorSet) -> None:
        """Make these the vectors that ``load`` gives."""
        manifest: dict[str, Any] = {"fingerprint": vectors.fingerprint, "config": vectors.config}
        if vectors.parts:
            manifest["parts"] = list(vectors.parts)
        if self._manifest() != manifest:
            with written_whole(self.folder / MANIFEST) as path:
                path.write_text(json.dumps(manifest, indent=2), encoding="utf-8")

    def load(self) -> NamedVectors:
        """All vectors that the manifest names; of a repeated id the newest."""
        manifest = self._manifest()
        if manifest is None:
            raise DataError(f"no vectors at {self.folder}: run the pipeline that computes them first")
        if parts := manifest.get("parts"):
            sets = [self._set({"fingerprint": part, "config": {}}) for part in parts]
            return SideBySide(sets, manifest["fingerprint"], manifest["config"])
        return self._set(manifest)

    def _set(self, manifest: dict[str, Any]) -> NamedVectors:
        return self._in_shards(manifest) if self.streamed else self._in_memory(manifest)

    def _in_memory(self, manifest: dict[str, Any]) -> Vectors:
        tables = [_read_shard(path, [self.key, "vector"]) for path in self._shards(manifest["fingerprint"])]
        if not tables:
            raise DataError(
                f"no vectors in {self.folder / manifest['fingerprint']}: run the pipeline that computes them"
            )
        table = pa.concat_tables(tables)
        ids, matrix = table[self.key].to_numpy(), _matrix(table)
        keep = ~pd.Index(ids).duplicated(keep="last")
        if not keep.all():
            ids, matrix = ids[keep], matrix[keep]
        return Vectors(ids, matrix, manifest["fingerprint"], manifest["config"])

    def _in_shards(self, manifest: dict[str, Any]) -> StreamedVectors:
        shards = self._shards(manifest["fingerprint"])
        tables = [_read_shard(path, [self.key]) for path in shards]
        if not tables:
            raise DataError(
                f"no vectors in {self.folder / manifest['fingerprint']}: run the pipeline that computes them"
            )
        ids = pa.concat_tables(tables)[self.key].to_numpy()
        shard = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        row = np.concatenate([np.arange(len(table)) for table in tables])
        keep = ~pd.Index(ids).duplicated(keep="last")
        origin = manifest["fingerprint"], manifest["config"]
        return StreamedVectors(ids[keep], shard[keep], row[keep], _Shards(shards), *origin)

    def known(self, fingerprint: str) -> dict[str, str]:
        """What is stored under a fingerprint already: id -> digest of what it was computed from.

        What a damaged shard held is not known any more, so that it is computed again.
        """
        found: dict[str, str] = {}
        for path in self._shards(fingerprint):
            try:
                table = _read_shard(path, [self.key, "digest"])
            except DataError as error:
                log.warning("%s", error)
                continue
            found |= dict(zip(table[self.key].to_pylist(), table["digest"].to_pylist(), strict=True))
        return found

    def _shards(self, fingerprint: str) -> list[Path]:
        found = (self.folder / fingerprint).glob("*.parquet")
        return sorted(path for path in found if SHARD.fullmatch(path.name))

    def _manifest(self) -> dict[str, Any] | None:
        path = self.folder / MANIFEST
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            usable = isinstance(manifest["fingerprint"], str) and isinstance(manifest["config"], dict)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, OSError) as error:
            log.warning("%s cannot be read (%s): the run that next computes these vectors makes it again", path, error)
            return None
        return manifest if usable else None

    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self._manifest() is not None


class _Shards:
    """Reads all vectors of a shard by its number."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __call__(self, number: int) -> Float32:
        return _matrix(_read_shard(self._paths[number], ["vector"]))


def _read_shard(path: Path, columns: list[str]) -> pa.Table:
    """A shard whose check sums are right. A damaged one is set aside, so that the next run computes what it held."""
    try:
        return pq.read_table(path, columns=columns, page_checksum_verification=True)
    except (PermissionError, FileNotFoundError, IsADirectoryError) as error:
        raise DataError(f"{path} cannot be read ({error}): make it a file that can be read, or delete it") from error
    except (pa.ArrowException, OSError, KeyError) as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        raise DataError(
            f"{path} is damaged ({error}) and is called {aside.name} now: what it held is computed again by a run"
        ) from error


def _matrix(table: pa.Table) -> Float32:
    column = table["vector"].combine_chunks()
    matrix: Float32 = column.flatten().to_numpy(zero_copy_only=False).reshape(len(table), column.type.list_size)
    return matrix


def _vector_column(vectors: Float32) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
