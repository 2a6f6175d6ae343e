"""Numbers and a description in one ``.npz`` file: what models and recipes are saved as. Never code, never a pickle."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from aezsl.errors import DataError
from aezsl.machine.files import written_whole

HEADER = "header"
#: Bytes of the header at most: four for every character.
MAX_HEADER = 32 * 1024 * 1024
#: The entry of the header that changes with anything else in the file.
DIGEST = "digest"


def save_npz(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file, whole or not at all; its header says which arrays belong to it."""
    stored = {name: np.asarray(array) for name, array in arrays.items()}
    header = {**header, "arrays": {name: _described(array) for name, array in stored.items()}}
    header[DIGEST] = _digest(json.loads(json.dumps(header)), stored)
    with written_whole(path, ".npz") as temporary:
        np.savez(temporary, allow_pickle=False, **{HEADER: np.array(json.dumps(header))}, **stored)


def load_npz(
    path: Path, what: str, version: int, fields: Sequence[str], again: str = "make it again"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that ``save_npz`` wrote with this ``version`` and these fields in its header.

    Every array must be there with the shape and type that it was saved with, and no other.
    again : what to do about a file of another version.
    """
    if not path.is_file():
        raise DataError(f"{path} is not a file: expected {what}; make it first, by a run of the whole pipeline")
    try:
        _check_directory(path)
        with np.load(path, allow_pickle=False) as file:
            header: dict[str, Any] = json.loads(str(file[HEADER]))
            arrays = {key: file[key] for key in file.files if key != HEADER}
    except Exception as error:  # a damaged archive fails in many ways: BadZipFile, zlib.error, struct.error, ...
        raise DataError(f"{path} is not {what} saved by this project ({error}): make it again") from error
    if not isinstance(header, dict) or header.get("version") != version:
        raise DataError(f"{path} is not {what} of version {version}: it was saved by another version, {again}")
    if missing := [field for field in (*fields, "arrays") if field not in header]:
        raise DataError(f"{path} is not {what} saved by this project (it has no {', '.join(missing)}): make it again")
    if not isinstance(header["arrays"], dict):
        raise DataError(f"{path} is not {what} saved by this project (its list of arrays is none): make it again")
    found = {name: _described(array) for name, array in arrays.items()}
    if found != header["arrays"]:
        wrong = next(name for name in {**found, **header["arrays"]} if found.get(name) != header["arrays"].get(name))
        expected = header["arrays"].get(wrong, "no array")
        raise DataError(
            f"{path} is not {what} as it was saved: expected {expected} as {wrong!r}, got {found.get(wrong, 'none')}; "
            "make it again"
        )
    return header, arrays


def _check_directory(path: Path) -> None:
    """Refuse an archive that would need more memory than it has bytes, before anything of it is read.

    ``save_npz`` stores arrays as they are. A member that is compressed, named twice, or no array could hide gigabytes,
    and so could a header longer than any that is written.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_members(members, path.stat().st_size)
        for member in members:
            with archive.open(member) as file:
                _check_array(file, member)


def _check_array(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Refuse an array that has other bytes than its shape and its type say; numpy would make room for all of them."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or prod(shape) * dtype.itemsize != member.file_size - file.tell():
        raise ValueError(f"{member.filename} is no array of the size that it says")


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    names = [member.filename for member in members]
    if len(set(names)) < len(names) or not all(name.endswith(".npy") for name in names):
        raise ValueError("its members are not arrays, each once")
    stored = (member.compress_type == zipfile.ZIP_STORED for member in members)
    if not all(stored) or any(member.file_size != member.compress_size for member in members):
        raise ValueError("a member is compressed")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its members are larger than the file")
    if any(member.file_size > MAX_HEADER for member in members if member.filename == f"{HEADER}.npy"):
        raise ValueError("its header is too long")


def check_unchanged(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Refuse contents that are not those that were saved together, such as two arrays that have changed places.

    It comes after whatever says more precisely what is wrong. It is not a signature: an attacker can compute it again.
    """
    if header.get(DIGEST) != _digest(header, arrays):
        raise DataError("its contents have been changed since it was saved")


def _digest(header: dict[str, Any], arrays: dict[str, Any]) -> str:
    text = json.dumps({key: value for key, value in header.items() if key != DIGEST}, sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {_described(arrays[name])}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _described(array: Any) -> str:
    return f"{array.dtype.str} of shape {'x'.join(map(str, array.shape)) or 'one'}"
