"""How the result changes with one parameter, all others as chosen."""

from typing import Any

import pandas as pd
from tqdm import tqdm

from aezsl.data.problem import Problem
from aezsl.evaluation.metrics import accuracy, per_class_accuracy
from aezsl.methods import make_method


def vary_parameter(
    problem: Problem, chosen: dict[str, Any], values: list[Any], name: str, parameter: str
) -> pd.DataFrame:
    """Test accuracy for every value of the parameter: a picture of robustness, never a way to choose.

    All values share one preparation of the training data and one pool.
    """
    if problem.y_test is None:
        raise ValueError("sensitivity compares accuracies, but the test images of this data have no labels")
    known = problem.y_test >= 0
    true = problem.y_test[known]
    estimator = make_method(name, **chosen)
    points = [{parameter: value} for value in values]
    path = estimator.fit_path(problem.X_train, problem.y_train, problem.S_seen, points)
    rows = []
    for value, model in tqdm(zip(values, path, strict=True), total=len(values), desc=f"{name}: {parameter}"):
        labels = model.predict(problem.X_test, problem.S_target)[known]
        rows.append((value, accuracy(true, labels), per_class_accuracy(true, labels)))
    table = pd.DataFrame(rows, columns=[parameter, "accuracy", "per_class_accuracy"])
    return table.assign(chosen=table[parameter] == chosen.get(parameter))
