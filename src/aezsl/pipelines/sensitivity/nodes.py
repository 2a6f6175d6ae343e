"""How the result changes with one parameter, all others as chosen."""

from typing import Annotated, Any

import pandas as pd
from annotated_types import MinLen

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.metrics import accuracy, per_class_accuracy
from aezsl.kinds import Count, NotNegative, Settings
from aezsl.machine.screen import progress_bar
from aezsl.methods import make_method
from aezsl.methods.core.seen import SeenData, Targets


class SensitivitySettings(Settings):
    """The paper's figures of robustness: accuracy of aezsl_lr on the test images for each value, all others as chosen.

    The ranges are the paper's.
    """

    k: Annotated[list[Count], MinLen(1)] = [80, 90, 100, 110, 120]
    """Images that become confident per round."""
    lambda3: Annotated[list[NotNegative], MinLen(1)] = [0.1, 1.0, 10.0, 100.0, 1000.0]
    """Ties between the targets' mappings."""


def vary_parameter(
    problem: Problem,
    normalisation: Normalisation,
    chosen: dict[str, Any],
    settings: SensitivitySettings,
    name: str,
    parameter: str,
) -> pd.DataFrame:
    """Test accuracy for every value of the parameter: a picture of robustness, never a way to choose.

    All values share one preparation of the training data and one pool.
    """
    known = problem.labelled
    if not known.any():
        raise DataError("sensitivity compares accuracies, but the test images of this data have no labels")
    values = getattr(settings, parameter)
    true, own = problem.y_test[known], problem.normalised(normalisation)
    estimator = make_method(name, **chosen)
    seen = SeenData(*own.seen_data[:3], given=own.given_seen)
    pool = own.X_test if estimator.transductive else None
    targets = Targets(own.S_target, pool, progress=False, unmoved=own.given_target)
    path = estimator.fit_points(seen, [{parameter: value} for value in values])
    rows = []
    for value, model in progress_bar(zip(values, path, strict=True), total=len(values), desc=f"{name}: {parameter}"):
        labels = model.adapt_to(targets).predict(own.X_test)[known]
        rows.append((value, accuracy(true, labels), per_class_accuracy(true, labels)))
    table = pd.DataFrame(rows, columns=[parameter, "accuracy", "per_class_accuracy"])
    return table.assign(chosen=table[parameter] == chosen.get(parameter))
