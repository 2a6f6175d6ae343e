"""MATLAB files of both kinds: up to v7 (scipy) and v7.3, which is HDF5 (h5py). Shapes are MATLAB's for both."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.formats.reading import reading

Mat = dict[str, NDArray[Any]]


def read_mat(path: Path, required: Iterable[str], optional: Iterable[str] = ()) -> Mat:
    """These variables of a MATLAB file; cell arrays of strings become 1-d arrays of ``str``."""
    required, optional = list(required), list(optional)
    if not path.is_file():
        raise DataError(f"{path} is missing: it should hold {', '.join(required)}")
    with reading(path, f"a MATLAB file with {', '.join(required)}"):
        load = _read_hdf5 if h5py.is_hdf5(path) else _read_classic
        content, present = load(path, {*required, *optional})
    if missing := [key for key in required if key not in content]:
        raise DataError(f"{path} has no {', '.join(missing)}; it has {', '.join(present) or 'nothing'}")
    return content


def _read_classic(path: Path, keys: set[str]) -> tuple[Mat, list[str]]:
    present = [name for name, _, _ in scipy.io.whosmat(path)]
    content = scipy.io.loadmat(path, variable_names=sorted(keys & set(present)))
    return {key: _strings(content[key]) for key in keys & set(present)}, present


def _strings(value: NDArray[Any]) -> NDArray[Any]:
    """A cell array of strings as a 1-d array of them; anything else as it is."""
    if value.dtype != object:
        return value
    texts = [_text(cell) for cell in value.ravel(order="F")]
    return np.array(texts, dtype=object)


def _text(cell: Any) -> str:
    array = np.asarray(cell)
    if array.dtype.kind != "U" or array.size > 1:
        raise ValueError(f"expected a cell array of strings, got a cell of type {array.dtype} and shape {array.shape}")
    return str(array.item()) if array.size else ""


def _read_hdf5(path: Path, keys: set[str]) -> tuple[Mat, list[str]]:
    with h5py.File(path, "r") as file:
        present = [key for key in file if not key.startswith("#")]
        return {key: _hdf5_value(file, file[key]) for key in keys & set(present)}, present


def _hdf5_value(file: Any, item: Any) -> NDArray[Any]:
    if not isinstance(item, h5py.Dataset):
        raise ValueError(f"{item.name} is a struct, expected an array")
    if item.dtype == h5py.ref_dtype:  # a cell array: references to arrays of UTF-16 code units
        cells = [file[reference] for reference in item[()].ravel()]
        return np.array([_hdf5_text(cell) for cell in cells], dtype=object)
    return np.asarray(item[()]).T  # MATLAB is column-major: HDF5 stores the transpose


def _hdf5_text(cell: Any) -> str:
    if cell.attrs.get("MATLAB_empty"):
        return ""
    return np.asarray(cell[()]).astype(np.uint16).ravel().tobytes().decode("utf-16-le")
