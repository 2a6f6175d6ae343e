"""The weights of a network as a catalog entry."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from aezsl.errors import DataError, NotReadyError
from aezsl.methods.daezsl.checkpoint import CheckpointFolder


class WeightsDataset(AbstractDataset[dict[str, Any], Path]):
    """A state dict in a ``.pt`` file, written whole or not at all. Loads its path, as backbones take weights."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata
        if self._filepath.suffix != ".pt":
            raise DataError(f"weights are kept in a .pt file, got {filepath}")

    def save(self, data: dict[str, Any]) -> None:
        """Write the file."""
        CheckpointFolder(self._filepath.parent).save(self._filepath.stem, data)

    def load(self) -> Path:
        """Where the file is."""
        if not self._filepath.is_file():
            raise NotReadyError(f"no weights at {self._filepath}: train first")
        return self._filepath

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
