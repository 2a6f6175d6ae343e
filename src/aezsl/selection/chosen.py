"""What a run works with: the parameters that a configuration leaves open, chosen on validation classes."""

from typing import Any, cast

from aezsl.data.normalise import Normalisation, moving_steps
from aezsl.data.problem import Problem
from aezsl.kinds import Values
from aezsl.methods import METHODS, Setting, in_setting, make_method, method_class
from aezsl.methods.core.parameters import MethodSettings
from aezsl.selection.race import Grid
from aezsl.selection.search import Selected, select_in_every_way
from aezsl.selection.settings import CalibrationSettings, SelectionSettings
from aezsl.selection.store import SelectionStore, SelectionStores


def choose(
    problem: Problem,
    method: MethodSettings,
    selection: SelectionSettings,
    store: SelectionStore,
    name: str,
    base_alternatives: list[dict[str, Any]] | None = None,
    calibration: CalibrationSettings | None = None,
    variant: Values | None = None,
    stores: SelectionStores | None = None,
) -> tuple[dict[str, Any], Normalisation, dict[str, Any], list[dict[str, Any]]]:
    """The parameters and the normalisation to use, chosen on validation classes; among which values; alternatives.

    A method that refines another starts, in every normalisation, from what was chosen for that one alone in it.
    variant : parameters that have one value whatever the configuration says. The alternatives are what would be used
    in each normalisation, what is used first. A method that may start from either of two finds in ``stores`` what was
    chosen for the other one alone, or chooses it.
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
    if stores is not None and (other := METHODS[name].or_refines):
        chosen = _chosen_alone(other, problem, selection, stores, calibration, ways)
        going_with = [
            {**values, **{key: value for key, value in own.items() if key not in init}}
            for values, own in zip(going_with or [{}] * len(ways), chosen, strict=True)
        ]
    found = select_in_every_way(name, problem, init, grid, selection, store, ways, calibration, going_with)
    complete = [one._replace(parameters=make_method(name, **one.parameters).get_params()) for one in found]
    return *complete[0], grid, [one._asdict() for one in complete]


def suitable_normalisations(name: str, problem: Problem, init: Values) -> list[Normalisation]:
    """The normalisations of the problem that suit the method: if it compares images with texts, none may move either.

    Where no normalisation suits, all are given: the method itself refuses them, unless the user vouches for the pair.
    """
    if not METHODS[name].paired or init.get("stated_pair"):
        return problem.normalisations
    suitable = [way for way in problem.normalisations if not any(map(moving_steps, way.values()))]
    return suitable or problem.normalisations


def effective_grid(name: str, given: MethodSettings) -> Grid:
    """What is searched for the method ``name``: the grid of its class, but for parameters that are given.

    A parameter with one value is not searched, even where ``grid`` names it: that one may be of a file, and the value
    of the command line. One that ``grid`` names has the values given there. The parameters keep the class's order,
    others that ``grid`` names come behind them: any parameter can be searched.
    """
    grid = {**method_class(name).grid, **given.searched}
    return {key: values for key, values in grid.items() if key not in given.fixed}


def _chosen_alone(
    name: str,
    problem: Problem,
    selection: SelectionSettings,
    stores: SelectionStores,
    calibration: CalibrationSettings | None,
    ways: list[Normalisation],
) -> list[dict[str, Any]]:
    """What is best for a method alone, in every normalisation: its parameters, with its name before theirs."""
    grid, store = method_class(name).grid, stores.of(in_setting(name, cast(Setting, problem.setting)))
    found = select_in_every_way(name, problem, {}, grid, selection, store, ways, calibration)
    by_way = [next(one for one in found if one.normalisation == way) for way in ways]
    return [{f"{name}_{key}": value for key, value in one.parameters.items()} for one in by_way]
