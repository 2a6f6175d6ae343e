"""The checkpoints of a training as a catalog entry."""

from typing import Any

from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.methods.daezsl.checkpoint import CheckpointFolder


class CheckpointDataset(ReadOnlyDataset[CheckpointFolder]):
    """Loads the folder itself, existing or not: a training reads and writes there while its node runs."""

    why = "checkpoints are written by the training itself"

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self._filepath = filepath

    def load(self) -> CheckpointFolder:
        """The folder."""
        return CheckpointFolder(self._filepath)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._filepath}
