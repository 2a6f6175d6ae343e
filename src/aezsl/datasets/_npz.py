"""Numbers and a description in one ``.npz`` file: what models and recipes are saved as. Never code, never a pickle."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import DatasetError

HEADER = "header"


def save_npz(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write beside the place, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.npz")
    try:
        np.savez(temporary, allow_pickle=False, **{HEADER: np.array(json.dumps(header))}, **arrays)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_npz(path: Path, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header: dict[str, Any] = json.loads(str(file[HEADER]))
            return header, {key: file[key] for key in file.files if key != HEADER}
    except (OSError, KeyError, ValueError) as error:
        raise DatasetError(f"{path} is not {what} saved by this project: {error}") from error
