"""Refine the labels of a linear method on the test images themselves."""

from typing import Any

import pandas as pd

from aezsl.data.problem import Problem
from aezsl.evaluation.metrics import HIT_KS
from aezsl.evaluation.ranking import Ranking
from aezsl.methods import ZeroShotClassifier, make_method
from aezsl.methods.refinement.refined import RefinedClassifier
from aezsl.methods.refinement.rounds import Round
from aezsl.pipelines.training.nodes import make_record, rank_targets, select_parameters
from aezsl.provenance import Cost


def select_refinement(
    problem: Problem,
    base_chosen: dict[str, Any],
    method: dict[str, Any],
    selection: dict[str, Any],
    former: pd.DataFrame,
    name: str,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Validation classes play the unlabelled pool; the base method keeps the parameters chosen for it alone."""
    method = {**method, "init": {**base_chosen, **method["init"]}}
    return select_parameters(problem, method, selection, former, name)


def adopt_base(
    base_model: ZeroShotClassifier, chosen: dict[str, Any], name: str
) -> tuple[ZeroShotClassifier, dict[str, Any]]:
    """The refined method around the base that is fitted already, and the cost of that: next to nothing."""
    with Cost("fit") as cost:
        model = make_method(name, **chosen).set_state(base_model.get_state())
    return model, cost.measured


def refine_labels(
    model: RefinedClassifier, fit_cost: dict[str, Any], problem: Problem
) -> tuple[Ranking, pd.DataFrame, dict[str, Any]]:
    """The refined ranking of the test images, what every round did (test labels only enter there), and the cost."""
    if not len(problem.X_test):  # nothing to refine on: no round
        ranking, record = rank_targets(model, fit_cost, problem)
        return ranking, pd.DataFrame(columns=Round._fields), record
    with Cost("rank") as cost:
        history = pd.DataFrame(model.refine(problem.X_test, problem.S_target, problem.y_test).history)
        ranking = model.rank(problem.X_test, problem.S_target, max(HIT_KS))
    return ranking, history, make_record(fit_cost | cost.measured, problem)
