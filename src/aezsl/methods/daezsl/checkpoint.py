"""Checkpoints of a training on disk: written whole or not at all, read without running anything from the file."""

import logging
import pickle
from pathlib import Path
from typing import Any

from aezsl.machine.files import write_durably

log = logging.getLogger(__name__)


class CheckpointFolder:
    """One file per phase of a training, ``<phase>.pt`` below a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    def load(self, phase: str) -> dict[str, Any] | None:
        """The last state of the phase; None where there is none, or where the file cannot be read."""
        import torch

        path = self.folder / f"{phase}.pt"
        if not path.is_file():
            return None
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, LookupError, ValueError, pickle.UnpicklingError) as error:
            log.warning("%s cannot be read as a checkpoint (%s); training starts again at the beginning", path, error)
            return None
        if not isinstance(state, dict):
            log.warning("%s is not a checkpoint; training starts again at the beginning", path)
            return None
        log.info("resuming from the checkpoint %s", path)
        return state

    def save(self, phase: str, state: dict[str, Any]) -> None:
        """A kill at any time leaves the old file or the new."""
        import torch

        write_durably(self.folder / f"{phase}.pt", lambda path: torch.save(state, path))

    def clear(self) -> None:
        """Forget every phase: the training is over."""
        for path in self.folder.glob("*.pt"):
            path.unlink(missing_ok=True)
