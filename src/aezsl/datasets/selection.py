"""The scores of a selection as a catalog entry."""

from aezsl.datasets.read_only import PlaceDataset
from aezsl.selection import SelectionStore


class SelectionDataset(PlaceDataset[SelectionStore]):
    """The store of a selection, which reads what a former run left and writes its own table."""

    why = "the table is written by the selection itself"
    opens = SelectionStore
