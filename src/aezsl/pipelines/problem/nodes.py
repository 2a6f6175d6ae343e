"""How the vectors of a problem are normalised, where the configuration leaves a choice."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import Steps, listed_alternatives
from aezsl.data.problem import build_problem, drop_undescribed
from aezsl.data.vectors import NamedVectors
from aezsl.errors import DataError
from aezsl.selection import SelectionStore, select_normalisation

PARTS = ("features", "semantics")


def choose_normalisation(
    *,
    features: NamedVectors,
    semantics: NamedVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: Mapping[str, str],
    normalise: Mapping[str, Steps],
    selection: Mapping[str, Any],
    scores: SelectionStore,
    store: MappedArrays | None,
    setting: str,
) -> dict[str, list[str]]:
    """The steps for features and semantics: those given, or of alternatives the best on validation classes."""
    ways = {part: listed_alternatives(normalise[part]) for part in PARTS}
    if all(len(listed) == 1 for listed in ways.values()):
        scores.forget()
        return {part: listed[0] for part, listed in ways.items()}
    if store is not None:
        raise DataError(
            "normalise has alternatives, which are compared in memory, but the problem is kept in files because it may "
            "be larger: give one list of steps for features and one for semantics"
        )
    described = drop_undescribed(semantics, classes, split)
    raw = build_problem(features, semantics, *described, dict.fromkeys(PARTS, ()), setting, list(unreadable))
    return select_normalisation(raw, ways["features"], ways["semantics"], selection, scores)
