"""Fitted methods on disk: numbers and a description, never code."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset, DatasetError

from aezsl.methods import METHODS, ZeroShotClassifier, make_method


class ModelDataset(AbstractDataset[ZeroShotClassifier, ZeroShotClassifier]):
    """A fitted method as one ``.npz`` file: its arrays, and its name and parameters as JSON.

    Loading looks the method up in the registry and runs nothing from the file (no pickle), so that a model
    from a stranger is safe to load.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: ZeroShotClassifier) -> None:
        """Write beside the place, then rename."""
        path = f"{type(data).__module__}:{type(data).__name__}"
        name = next((name for name, registered in METHODS.items() if registered == path), None)
        if name is None:
            raise DatasetError(f"{path} is not a registered method; add it to aezsl.methods.METHODS")
        state = data.get_state()
        arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
        scalars = {key: value for key, value in state.items() if key not in arrays}
        header = json.dumps({"method": name, "parameters": data.get_params(), "scalars": scalars})
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._filepath.with_name(f".{uuid.uuid4().hex}.npz")
        try:
            np.savez(temporary, allow_pickle=False, header=np.array(header), **arrays)
            os.replace(temporary, self._filepath)
        finally:
            temporary.unlink(missing_ok=True)

    def load(self) -> ZeroShotClassifier:
        """The fitted method."""
        try:
            with np.load(self._filepath, allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                arrays = {key: file[key] for key in file.files if key != "header"}
        except (OSError, KeyError, ValueError) as error:
            raise DatasetError(f"{self._filepath} is not a model saved by this project: {error}") from error
        return make_method(header["method"], **header["parameters"]).set_state({**arrays, **header["scalars"]})

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
