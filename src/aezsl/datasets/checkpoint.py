"""The checkpoints of a training as a catalog entry."""

from aezsl.datasets.read_only import PlaceDataset
from aezsl.methods.daezsl.checkpoint import CheckpointFolder


class CheckpointDataset(PlaceDataset[CheckpointFolder]):
    """The folder of a training's checkpoints."""

    why = "checkpoints are written by the training itself"
    opens = CheckpointFolder
