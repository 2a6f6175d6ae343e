"""Trainings that are cut short."""

from aezsl.methods.daezsl.checkpoint import CheckpointFolder


class Interrupted(CheckpointFolder):
    """Raises in the place of a power cut, after so many epochs."""

    def __init__(self, folder, after):
        super().__init__(folder)
        self.left = after

    def save(self, phase, state):
        super().save(phase, state)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
