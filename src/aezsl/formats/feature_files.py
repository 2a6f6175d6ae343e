"""Features that somebody else has computed, taken from a file as if a backbone had made them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from aezsl.arrays import Float32
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.files import file_digest
from aezsl.formats.xlsa17 import read_features

#: Names under which an .npz file may keep the matrix and the ids.
MATRIX_KEYS = ("X", "features", "vectors")
ID_KEYS = ("image_id", "files", "ids")
SHARD_ROWS = 50_000
#: Rows of a Parquet file that are read, and become a shard, together.
PARQUET_ROWS = 20_000


def import_features(images: pd.DataFrame, path: str, store: VectorStore) -> VectorSet:
    """Add the vectors of ``images`` from a feature file to the store, in shards, unless they are there already.

    The file is ``.npz`` (X with image_id, or X alone with one row per image in the order of the images table),
    ``.parquet`` (image_id, vector; read piece by piece, so that it may be larger than the memory), or ``.mat``
    (xlsa17's res101.mat).
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no feature file at {file}: set feature_extraction.path, or another backbone")
    digest = file_digest(file)
    found = VectorSet(f"file-{digest}", {"backbone": "file", "weights": file.name, "digest": digest})
    wanted = images["image_id"][~images["image_id"].isin(set(store.known(found.fingerprint)))]
    if not wanted.empty:
        for names, vectors in _blocks(file, images, wanted):
            store.add(VectorChunk(found.fingerprint, names, [digest] * len(names), vectors))
    return found


def _blocks(file: Path, images: pd.DataFrame, wanted: pd.Series) -> Iterator[tuple[list[str], Float32]]:
    """Ids and vectors of the wanted images, some at a time."""
    if file.suffix == ".parquet":  # the one format that can be larger than the memory
        yield from _parquet_blocks(file, wanted)
        return
    ids, matrix = read_feature_file(file)
    rows = _rows(ids, matrix, images, wanted, file)
    for start in range(0, len(wanted), SHARD_ROWS):
        part = slice(start, start + SHARD_ROWS)
        yield wanted.iloc[part].tolist(), matrix[rows[part]].astype(np.float32)


def _parquet_blocks(file: Path, wanted: pd.Series) -> Iterator[tuple[list[str], Float32]]:
    """Ids and vectors of the wanted images, a block of rows at a time, in the order of the file."""
    _check_ids(pq.read_table(file, columns=["image_id"])["image_id"].to_numpy(), wanted, file)
    names = pd.Index(wanted)
    for batch in pq.ParquetFile(file).iter_batches(PARQUET_ROWS, columns=["image_id", "vector"]):
        ids = batch["image_id"].to_numpy(zero_copy_only=False)
        keep = names.get_indexer(pd.Index(ids)) >= 0
        if keep.any():
            flat = batch["vector"].flatten().to_numpy(zero_copy_only=False)
            yield ids[keep].tolist(), flat.reshape(len(ids), -1)[keep].astype(np.float32)


def _check_ids(ids: NDArray[Any], wanted: pd.Series, file: Path) -> NDArray[np.int64]:
    """Row of the file for every wanted image."""
    rows = pd.Index(ids).get_indexer(pd.Index(wanted))
    if (rows < 0).any():
        missing = wanted.iloc[int((rows < 0).argmax())]
        raise ValueError(f"{int((rows < 0).sum())} images have no row in {file}, for example {missing!r}")
    found: NDArray[np.int64] = rows.astype(np.int64)
    return found


def _rows(
    ids: NDArray[Any] | None, matrix: Float32, images: pd.DataFrame, wanted: pd.Series, file: Path
) -> NDArray[np.int64]:
    """Row of the matrix for every wanted image."""
    if ids is None:
        if len(matrix) != len(images):
            raise ValueError(
                f"{file} has {len(matrix)} rows and no image_id, so it must hold one row for each of the "
                f"{len(images)} images in their own order; add an image_id array, or use the whole data set"
            )
        return images["image_id"].isin(set(wanted)).to_numpy().nonzero()[0]
    return _check_ids(ids, wanted, file)


def read_feature_file(file: Path) -> tuple[NDArray[Any] | None, Float32]:
    """Ids (or None where the file has none) and the matrix (n, d)."""
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as arrays:
            key = next((key for key in MATRIX_KEYS if key in arrays), None)
            if key is None:
                raise ValueError(f"{file} must hold one of {MATRIX_KEYS}, got {arrays.files}")
            id_key = next((key for key in ID_KEYS if key in arrays), None)
            return (arrays[id_key] if id_key else None), arrays[key]
    if file.suffix == ".parquet":
        table = pq.read_table(file, columns=["image_id", "vector"])
        column = table["vector"].combine_chunks()
        return table["image_id"].to_numpy(), np.vstack(column.to_numpy(zero_copy_only=False))
    if file.suffix == ".mat":
        ids, matrix = read_features(file)
        return np.array(ids), matrix
    raise ValueError(f"cannot read features from {file}: expected .npz, .parquet or .mat")
