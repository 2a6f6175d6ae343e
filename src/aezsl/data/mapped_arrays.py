"""Matrices too large for memory: written block by block to Arrow files, then mapped from there."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from aezsl.arrays import Array, Labels
from aezsl.errors import DataError
from aezsl.machine.files import written_whole


class MappedArrays:
    """One Arrow file per matrix below a folder, ``<name>.arrow`` with a column ``vector``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def write(self, name: str, shape: tuple[int, int], blocks: Iterable[Array]) -> Array:
        """Write the blocks of rows one below the other as float32; the whole matrix, mapped.

        A reader of the former file of this name keeps what it has mapped.
        """
        import pyarrow as pa

        place = self.folder / f"{name}.arrow"
        with written_whole(place) as written, tempfile.TemporaryFile(dir=self.folder) as raw:
            # Arrow wants a column in one piece, so it is put together in a mapped file of plain numbers first.
            rows = np.memmap(raw, dtype=np.float32, mode="w+", shape=shape)
            end = 0
            for block in blocks:
                rows[end : end + len(block)] = block
                end += len(block)
            if end != shape[0]:
                raise DataError(f"expected {shape[0]} rows for {name}, got {end}")
            column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), shape[1])
            table = pa.table({"vector": column})
            with pa.OSFile(str(written), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        return map_vectors(place)

    def read(self, name: str) -> Array:
        """The matrix that was written under this name, mapped."""
        place = self.folder / f"{name}.arrow"
        if not place.is_file():
            raise DataError(f"{place} is not a file: the features of a problem should be there; assemble it again")
        return map_vectors(place)


def map_vectors(path: Path) -> Array:
    """The column ``vector`` of an Arrow file as a matrix that is read from the file whenever it is used."""
    import pyarrow as pa

    file = pa.memory_map(str(path))
    vectors = pa.ipc.open_file(file).read_all()["vector"]
    shape = len(vectors), vectors.type.list_size
    if 0 in shape:
        return np.empty(shape, dtype=np.float32)
    # Mapped by numpy, not by Arrow: then whoever has a part of the matrix can tell which part of which file it is.
    file.seek(0)
    numbers = vectors.chunk(0).flatten().buffers()[1]
    offset = numbers.address - file.read_buffer().address
    return np.memmap(path, dtype=np.float32, mode="r", offset=offset, shape=shape)


@dataclass(frozen=True)
class Rows:
    """Some rows of a matrix, which may be a mapped file: they are read when they are used (``np.asarray``).

    To other processes they travel as the name of the file and their numbers, where there is a file, and as an array
    where there is none.
    """

    X: Array  # (n, d) all of them
    which: slice | Labels

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def _numbers(self) -> range | Labels:
        return range(*self.which.indices(len(self.X))) if isinstance(self.which, slice) else self.which

    def __getitem__(self, part: slice | Labels) -> "Rows":
        """Some of these rows: a run of them, or those of the given places."""
        numbers = self._numbers
        if isinstance(numbers, range) and isinstance(part, slice):
            return Rows(self.X, slice(numbers[part].start, numbers[part].stop))
        return Rows(self.X, np.asarray(numbers)[part])

    def blocks(self, size: int) -> Iterator[Array]:
        """The rows as arrays of at most ``size`` rows, one after the other."""
        return (np.asarray(self[i : i + size]) for i in range(0, len(self), size))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.X[self.which], dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        place = FilePlace.find(self.X)
        if place is None:
            return Rows, (np.ascontiguousarray(self.X[self.which]), slice(None))
        return _rows_of_file, (place, self.which)


@dataclass(frozen=True)
class FilePlace:
    """Where in a file the numbers of a mapped matrix lie."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def find(cls, X: Array) -> Self | None:
        """The place of a matrix that is one piece of a mapped file; None where X is not, or the file is not there."""
        whole = X
        while isinstance(whole.base, np.ndarray):  # up to the array of the whole mapping: only its offset is true
            whole = whole.base
        # What is written to a mapping of mode c never reaches the file.
        if not isinstance(whole, np.memmap) or not whole.filename or whole.mode == "c" or not X.flags.c_contiguous:
            return None
        inside = X.ctypes.data - whole.ctypes.data
        return cls(str(Path(whole.filename).absolute()), whole.offset + inside, X.dtype.str, X.shape)


def _rows_of_file(place: FilePlace, which: slice | Labels) -> Rows:
    return Rows(np.memmap(place.path, place.dtype, "r", place.offset, place.shape), which)
