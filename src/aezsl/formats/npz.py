"""Numbers and a description in one ``.npz`` file: what models and recipes are saved as. Never code, never a pickle."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.errors import DataError
from aezsl.files import written_whole

HEADER = "header"


def save_npz(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with written_whole(path, ".npz") as temporary:
        np.savez(temporary, allow_pickle=False, **{HEADER: np.array(json.dumps(header))}, **arrays)


def load_npz(path: Path, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header: dict[str, Any] = json.loads(str(file[HEADER]))
            return header, {key: file[key] for key in file.files if key != HEADER}
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{path} is not {what} saved by this project: {error}") from error
