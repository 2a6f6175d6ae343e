"""What a run works with: the parameters that a configuration leaves open, chosen on validation classes."""

from typing import Any

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.kinds import Values
from aezsl.methods import make_method
from aezsl.methods.core.parameters import MethodSettings
from aezsl.selection.search import Selected, effective_grid, select_in_every_way, suitable_normalisations
from aezsl.selection.settings import CalibrationSettings, SelectionSettings
from aezsl.selection.store import SelectionStore


def choose(
    problem: Problem,
    method: MethodSettings,
    selection: SelectionSettings,
    store: SelectionStore,
    name: str,
    base_alternatives: list[dict[str, Any]] | None = None,
    calibration: CalibrationSettings | None = None,
    variant: Values | None = None,
) -> tuple[dict[str, Any], Normalisation, dict[str, Any], list[dict[str, Any]]]:
    """The parameters and the normalisation to use, chosen on validation classes; among which values; alternatives.

    A method that refines another starts, in every normalisation, from what was chosen for that one alone in it.
    variant : parameters that have one value whatever the configuration says. The alternatives are what would be used
    in each normalisation, what is used first.
    """
    variant = variant or {}
    init = {**method.fixed, **variant}
    grid = {key: values for key, values in effective_grid(name, method).items() if key not in variant}
    ways, going_with = suitable_normalisations(name, problem, init), None
    if base_alternatives:
        bases = [Selected(**one) for one in base_alternatives]
        # In the problem's order: the first one is taken unless another is clearly better.
        bases.sort(key=lambda base: ways.index(base.normalisation))
        ways = [base.normalisation for base in bases]
        going_with = [{key: value for key, value in base.parameters.items() if key not in init} for base in bases]
    found = select_in_every_way(name, problem, init, grid, selection, store, ways, calibration, going_with)
    complete = [one._replace(parameters=make_method(name, **one.parameters).get_params()) for one in found]
    return *complete[0], grid, [one._asdict() for one in complete]
