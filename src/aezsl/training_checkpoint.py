"""Checkpoints of a training on disk: written whole or not at all, read without running anything from the file."""

import logging
import os
import pickle
import uuid
from pathlib import Path
from typing import Any

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
        except (OSError, RuntimeError, EOFError, KeyError, ValueError, pickle.UnpicklingError) as error:
            log.warning("%s is no checkpoint that can be read (%s); training starts anew", path, error)
            return None
        log.info("going on from the checkpoint %s", path)
        return state

    def save(self, phase: str, state: dict[str, Any]) -> None:
        """Write beside the place, flush to the disk, then rename: a kill at any time leaves the old file or the new."""
        import torch

        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{phase}.{uuid.uuid4().hex}"
        try:
            with temporary.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.folder / f"{phase}.pt")
        finally:
            temporary.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget every phase: the training is over."""
        for path in self.folder.glob("*.pt"):
            path.unlink(missing_ok=True)
