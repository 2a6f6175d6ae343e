"""Choosing parameters on validation classes: seen classes that play unseen, never test labels."""

from aezsl.selection.calibration import learnt_spread
from aezsl.selection.chosen import choose, effective_grid, suitable_normalisations
from aezsl.selection.confidence import validated_confidence
from aezsl.selection.folds import class_folds, class_split, problem_folds, require_classes
from aezsl.selection.race import grid_points
from aezsl.selection.search import (
    Selected,
    select,
    select_in_every_way,
    select_parameters,
)
from aezsl.selection.settings import CalibrationSettings, ConfidenceSettings, SelectionSettings
from aezsl.selection.side_by_side import cross_validate
from aezsl.selection.store import SelectionStore, SelectionStores, selection_key
from aezsl.selection.ties import most_cautious_first, most_central_first, optimism

__all__ = [
    "CalibrationSettings",
    "ConfidenceSettings",
    "Selected",
    "SelectionSettings",
    "SelectionStore",
    "SelectionStores",
    "choose",
    "class_folds",
    "class_split",
    "cross_validate",
    "effective_grid",
    "grid_points",
    "learnt_spread",
    "most_cautious_first",
    "most_central_first",
    "optimism",
    "problem_folds",
    "require_classes",
    "select",
    "select_in_every_way",
    "select_parameters",
    "selection_key",
    "suitable_normalisations",
    "validated_confidence",
]
