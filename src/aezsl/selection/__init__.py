"""Choosing parameters on validation classes: seen classes that play unseen, never test labels."""

from aezsl.selection.calibration import validated_constant
from aezsl.selection.folds import class_folds, class_split, held_out_mask, long_tail
from aezsl.selection.normalisation import select_normalisation
from aezsl.selection.search import cross_validate, effective_grid, grid_points, select_parameters
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.ties import most_cautious_first, most_central_first

__all__ = [
    "SelectionStore",
    "class_folds",
    "class_split",
    "cross_validate",
    "effective_grid",
    "grid_points",
    "held_out_mask",
    "long_tail",
    "most_cautious_first",
    "most_central_first",
    "select_normalisation",
    "select_parameters",
    "selection_key",
    "validated_constant",
]
