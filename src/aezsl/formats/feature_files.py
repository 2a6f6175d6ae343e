"""Features that somebody else has computed, taken from a file as if a backbone had made them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from aezsl.arrays import Float32
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.errors import DataError, counted
from aezsl.formats.names import duplicates
from aezsl.formats.reading import first_few, reading
from aezsl.formats.xlsa17 import read_features
from aezsl.machine.files import file_digest

#: Names under which an .npz file may keep the matrix and the ids.
MATRIX_KEYS = ("X", "features", "vectors")
ID_KEYS = ("image_id", "files", "ids")
SHARD_ROWS = 50_000
#: Rows of a Parquet file that are read, and become a shard, together.
PARQUET_ROWS = 20_000

Block = tuple[list[str], Float32]


def import_features(images: pd.DataFrame, path: str | None, store: VectorStore) -> VectorSet:
    """Add the vectors of ``images`` from a feature file to the store, in shards, unless they are there already.

    The file is ``.npz`` (X with image_id, or X alone with one row per image in the order of the images table),
    ``.parquet`` (image_id, vector; read piece by piece, so that it may be larger than the memory), or ``.mat``
    (xlsa17's res101.mat). Vectors are known by the content of the file.
    """
    file = Path(path or "").expanduser()
    if not path or not file.is_file():
        raise DataError(f"no feature file at {path or '(no path)'}: set feature_extraction.path, or another backbone")
    if file.suffix.lower() not in (".npz", ".parquet", ".mat"):
        raise DataError(f"cannot read features from {file}: expected .npz, .parquet or .mat")
    digest = file_digest(file)
    found = VectorSet(f"file-{digest}", {"backbone": "file", "weights": file.name, "digest": digest})
    wanted = images["image_id"][~images["image_id"].isin(set(store.known(found.fingerprint)))]
    if not wanted.empty:
        for names, vectors in _blocks(file, images, wanted):
            store.add(VectorChunk(found.fingerprint, names, [digest] * len(names), vectors))
    return found


def _blocks(file: Path, images: pd.DataFrame, wanted: pd.Series) -> Iterator[Block]:
    """Ids and vectors of the wanted images, some at a time."""
    with reading(file, "a file of features", "write it with arrays of numbers and ids as text, or fetch it again"):
        if file.suffix.lower() == ".parquet":  # the one format that can be larger than the memory
            yield from _parquet_blocks(file, wanted)
            return
        ids, matrix = _read_npz(file) if file.suffix.lower() == ".npz" else read_features(file)
        rows = _rows(ids, matrix, images, wanted, file)
        for start in range(0, len(wanted), SHARD_ROWS):
            part = slice(start, start + SHARD_ROWS)
            names = wanted.iloc[part].tolist()
            yield names, _checked(file, names, matrix[rows[part]])


def _read_npz(file: Path) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Ids (or None where the file has none) and the matrix (n, d)."""
    with np.load(file, allow_pickle=False) as arrays:
        keys, id_keys = ([key for key in known if key in arrays] for known in (MATRIX_KEYS, ID_KEYS))
        if len(keys) != 1:
            raise DataError(f"{file} must hold exactly one of {', '.join(MATRIX_KEYS)}, got {first_few(arrays.files)}")
        if len(id_keys) > 1:
            raise DataError(f"{file} names its rows by {' and by '.join(id_keys)}: keep one of them")
        key, id_key = keys[0], id_keys[0] if id_keys else None
        matrix, ids = arrays[key], arrays[id_key] if id_key else None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"{file}: {key} must be a matrix with one row per image, got an array of shape {matrix.shape}")
    if ids is not None and ids.shape != (len(matrix),):
        raise DataError(
            f"{file}: {id_key} must name every row of {key}, expected {len(matrix)} names, got shape {ids.shape}"
        )
    return ids, matrix


def _parquet_blocks(file: Path, wanted: pd.Series) -> Iterator[Block]:
    """Ids and vectors of the wanted images, a block of rows at a time, in the order of the file."""
    schema = pq.read_schema(file)
    if missing := {"image_id", "vector"} - set(schema.names):
        raise DataError(
            f"{file} must have the columns image_id and vector, it has no {' and no '.join(sorted(missing))}; "
            f"its columns are {first_few(schema.names)}"
        )
    if not _is_numeric_list(schema.field("vector").type):
        raise DataError(f"{file}: vector must be lists of numbers, got {schema.field('vector').type}")
    checked = pq.ParquetFile(file, page_checksum_verification=True)
    _find(checked.read(["image_id"])["image_id"].to_numpy(), wanted, file)
    names, width = pd.Index(wanted), None
    for batch in checked.iter_batches(PARQUET_ROWS, columns=["image_id", "vector"]):
        ids = _texts(batch["image_id"].to_numpy(zero_copy_only=False), file)
        lengths = batch["vector"].value_lengths().to_numpy(zero_copy_only=False)
        width = lengths[0] if width is None else width
        wrong = np.flatnonzero(lengths != width)  # a missing vector has no length
        if len(wrong):
            raise DataError(
                f"{file}: all vectors must have the same length, {_numbers(width)} as the first, got "
                f"{_numbers(lengths[wrong[0]])} for {ids[wrong[0]]!r}: write every image with its whole vector"
            )
        keep = names.get_indexer(pd.Index(ids)) >= 0
        if keep.any():
            flat = batch["vector"].flatten().to_numpy(zero_copy_only=False)
            kept = ids[keep].tolist()
            yield kept, _checked(file, kept, flat.reshape(len(ids), -1)[keep])


def _numbers(length: float) -> str:
    return "none" if np.isnan(length) else f"{length:g} numbers"


def _is_numeric_list(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _checked(file: Path, names: list[str], vectors: NDArray[Any]) -> Float32:
    """The vectors in single precision, all of them finite."""
    if vectors.dtype.kind not in "fiub" or vectors.ndim != 2 or 0 in vectors.shape:
        raise DataError(f"{file}: features must be a matrix of real numbers, got {vectors.dtype} of {vectors.shape}")
    with np.errstate(over="ignore"):
        matrix: Float32 = vectors.astype(np.float32)
    lost = vectors.any(axis=1) & ~matrix.any(axis=1)  # numbers so small that nothing is left of them
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1) | lost)
    if len(bad):
        raise DataError(
            f"{file}: {counted(len(bad), 'images have', 'image has')} values that are missing, infinite or "
            "beyond single precision, for example "
            f"{names[bad[0]]!r}: compute their features again"
        )
    return matrix


def _texts(ids: NDArray[Any], file: Path) -> NDArray[np.object_]:
    """Ids as text."""
    decoded = [i.decode() if isinstance(i, bytes) else i for i in ids.tolist()]
    if wrong := [i for i in decoded if isinstance(i, bool) or not isinstance(i, (str, int))]:
        raise DataError(f"{file}: ids of images must be text, got {wrong[0]!r}")
    return np.array([str(i) for i in decoded], dtype=object)


def _find(ids: NDArray[Any], wanted: pd.Series, file: Path) -> NDArray[np.int64]:
    """Row of the file for every wanted image."""
    names = _texts(ids, file)
    if repeated := duplicates(names.tolist()):
        raise DataError(f"{file} has more than one row for {first_few(repeated)}: keep one of each")
    rows = pd.Index(names).get_indexer(pd.Index(wanted))
    if (rows < 0).any():
        missing = wanted.iloc[int((rows < 0).argmax())]
        raise DataError(
            f"{int((rows < 0).sum())} of {len(wanted)} images have no row in {file}, for example {missing!r}: "
            "add their features, or take the images out"
        )
    found: NDArray[np.int64] = rows.astype(np.int64)
    return found


def _rows(
    ids: NDArray[Any] | list[str] | None, matrix: NDArray[Any], images: pd.DataFrame, wanted: pd.Series, file: Path
) -> NDArray[np.int64]:
    """Row of the matrix for every wanted image."""
    if ids is None:
        if len(matrix) != len(images):
            raise DataError(
                f"{file} has {len(matrix)} rows and no image_id, so it must hold one row for each of the "
                f"{len(images)} images in their own order; add an image_id array, or use the whole data set"
            )
        return images["image_id"].isin(set(wanted)).to_numpy().nonzero()[0]
    return _find(np.asarray(ids), wanted, file)
