"""Where a problem too large for memory keeps its features, as a catalog entry."""

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.datasets.read_only import PlaceDataset


class MappedArraysDataset(PlaceDataset[MappedArrays | None]):
    """The folder; None where no place is named, and features stay in memory."""

    why = "mapped arrays are written by the node that makes them"

    @staticmethod
    def opens(path: str | None) -> MappedArrays | None:
        """The folder, if there is one."""
        return None if path is None else MappedArrays(path)
