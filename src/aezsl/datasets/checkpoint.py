"""The checkpoints of a training as a catalog entry."""

from typing import Any

from kedro.io import AbstractDataset, DatasetError

from aezsl.training_checkpoint import CheckpointFolder


class CheckpointDataset(AbstractDataset[None, CheckpointFolder]):
    """Loads the folder itself, existing or not: a training reads and writes there while its node runs."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = filepath
        self.metadata = metadata

    def load(self) -> CheckpointFolder:
        """The folder."""
        return CheckpointFolder(self._filepath)

    def save(self, data: None) -> None:
        """Refuse: the training writes its own checkpoints."""
        raise DatasetError("checkpoints are written by the training itself")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
