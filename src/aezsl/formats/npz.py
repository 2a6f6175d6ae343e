"""Numbers and a description in one ``.npz`` file: what models and recipes are saved as. Never code, never a pickle."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from aezsl.errors import DataError
from aezsl.files import written_whole

HEADER = "header"


def save_npz(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with written_whole(path, ".npz") as temporary:
        np.savez(temporary, allow_pickle=False, **{HEADER: np.array(json.dumps(header))}, **arrays)


def load_npz(path: Path, what: str, version: int, fields: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that ``save_npz`` wrote with this ``version`` and these fields in its header."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header: dict[str, Any] = json.loads(str(file[HEADER]))
            arrays = {key: file[key] for key in file.files if key != HEADER}
    except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
        raise DataError(f"{path} is not {what} saved by this project ({error}): make it again") from error
    if not isinstance(header, dict) or header.get("version") != version:
        raise DataError(f"{path} is not {what} of version {version}: it was saved by another version, make it again")
    if missing := [field for field in fields if field not in header]:
        raise DataError(f"{path} is not {what} saved by this project (it has no {', '.join(missing)}): make it again")
    return header, arrays
