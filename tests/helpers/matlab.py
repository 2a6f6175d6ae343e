"""Write MATLAB files of both kinds, as MATLAB itself lays them out."""

import h5py
import numpy as np


def cells(texts):
    """An n x 1 cell array of strings for scipy.io.savemat."""
    array = np.empty((len(texts), 1), dtype=object)
    array[:, 0] = texts
    return array


def save_v73(path, variables):
    """Lists become n x 1 cell arrays of strings, arrays are stored transposed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for key, value in variables.items():
            if isinstance(value, list):
                references = np.empty((1, len(value)), dtype=h5py.ref_dtype)
                for i, text in enumerate(value):
                    units = np.frombuffer(text.encode("utf-16-le"), dtype=np.uint16)[:, None]
                    cell = file.create_dataset(f"#refs#/{key}{i}", data=units)
                    cell.attrs["MATLAB_class"] = np.bytes_("char")
                    references[0, i] = cell.ref
                file.create_dataset(key, data=references, dtype=h5py.ref_dtype)
            else:
                file.create_dataset(key, data=np.asarray(value).T)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
