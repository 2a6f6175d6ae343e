"""Predictions, metrics and the picture of them."""

from typing import Any

import numpy as np
import pandas as pd

from aezsl.evaluation.metrics import class_accuracies, classification_metrics, confusions
from aezsl.evaluation.ranking import Ranking
from aezsl.problem import Problem

#: Classes listed per image in the predictions table.
TOP = 5


def tabulate_predictions(ranking: Ranking, problem: Problem) -> pd.DataFrame:
    """One row per test image: what it is, what it was called and how surely, and the best classes."""
    names = np.array(problem.target_names, dtype=object)
    top = names[ranking.classes[:, :TOP]]
    true = None if problem.y_test is None else names[problem.y_test]
    return pd.DataFrame(
        {
            "image_id": problem.test_ids,
            "true": true,
            "predicted": top[:, 0],
            "score": ranking.scores[:, 0],
            "top_5": top.tolist(),
            "top_5_scores": ranking.scores[:, :TOP].tolist(),
            "label_space": "unseen" if problem.setting == "zsl" else "seen + unseen",
        }
    )


def evaluate(ranking: Ranking, problem: Problem) -> dict[str, float]:
    """All metrics of the conventional setting; none without test labels."""
    if problem.y_test is None:
        return {}
    return classification_metrics(problem.y_test, ranking, len(problem.target_names))


def list_errors(ranking: Ranking, problem: Problem, settings: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy per class, best first, and the most frequent confusions; empty without test labels."""
    names = problem.target_names
    if problem.y_test is None:
        return pd.DataFrame(columns=["class_name", "images", "accuracy"]), pd.DataFrame(columns=["true", "predicted"])
    predicted = ranking.classes[:, 0]
    per_class = pd.DataFrame(
        {
            "class_name": names,
            "images": np.bincount(problem.y_test, minlength=len(names)),
            "accuracy": class_accuracies(problem.y_test, predicted, len(names)),
        }
    )
    worst = confusions(problem.y_test, predicted, names, settings["n_confusions"])
    return per_class.sort_values("accuracy", ascending=False, kind="stable"), worst
