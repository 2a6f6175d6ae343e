"""Matrices too large for memory: written block by block to Arrow files, then mapped from there."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from aezsl.arrays import Array
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
        place = self.folder / f"{name}.arrow"
        with written_whole(place) as written, tempfile.TemporaryFile(dir=self.folder) as raw:
            # Arrow wants a column in one piece, so it is put together in a mapped file of plain numbers first.
            rows = np.memmap(raw, dtype=np.float32, mode="w+", shape=shape)
            end = 0
            for block in blocks:
                rows[end : end + len(block)] = block
                end += len(block)
            if end != shape[0]:
                raise ValueError(f"expected {shape[0]} rows for {name}, got {end}")
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
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    column = table["vector"].chunk(0)
    matrix: Array = column.flatten().to_numpy(zero_copy_only=True).reshape(len(column), column.type.list_size)
    return matrix
