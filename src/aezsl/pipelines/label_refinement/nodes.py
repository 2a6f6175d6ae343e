"""The unlabelled test images are a pool: methods that learn from it adapt here, round by round."""

from typing import Any

import pandas as pd

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.machine.provenance import Cost
from aezsl.methods import PoolClassifier, TargetClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.serving.trained import TrainedModel


def refine_labels(
    trained: TrainedModel,
    base: TrainedModel,
    base_normalisation: Normalisation,
    base_classifier: TargetClassifier,
    problem: Problem,
    normalisation: Normalisation,
) -> tuple[TargetClassifier, pd.DataFrame, dict[str, Any]]:
    """The labels that the adapted base gives to the pool, refined; what every round did, and the cost.

    A method with a base of its own, in another normalisation, adapts that one as well.
    """
    model: Any = trained.model
    if normalisation != base_normalisation or not model.starts_from(base.model):
        return adapt_to_pool(trained, problem, normalisation)
    own = problem.normalised(normalisation)
    with Cost("adapt") as cost:
        found = len(own.X_test) > 0
        classifier = model.improve(base_classifier, own.X_test, own.given_target) if found else base_classifier
    return classifier, describe_rounds(classifier, problem), cost.measured


def adapt_to_pool(
    trained: TrainedModel, problem: Problem, normalisation: Normalisation
) -> tuple[TargetClassifier, pd.DataFrame, dict[str, Any]]:
    """The classifier of the target classes that has learnt from the pool; what every round did, and the cost."""
    own = problem.normalised(normalisation)
    with Cost("adapt") as cost:
        classifier = trained.model.adapt(own.S_target, own.X_test if len(own.X_test) else None, own.given_target)
    return classifier, describe_rounds(classifier, problem), cost.measured


def describe_rounds(classifier: TargetClassifier, problem: Problem) -> pd.DataFrame:
    """What the pool's labels were at the start, and after every round. Test labels enter here, and nowhere before."""
    if isinstance(classifier, PoolClassifier):
        return classifier.rounds.table(problem.y_test, with_start=True)
    return LabelHistory(problem.y_test).table()  # no pool, no round
