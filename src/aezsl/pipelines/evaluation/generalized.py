"""The generalized setting: test images of seen and unseen classes, told apart among all of them."""

from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.calibration import merge, seen_unseen_curve
from aezsl.evaluation.confidence import Stacking
from aezsl.evaluation.metrics import HIT_KS, confidence_metrics, gzsl_metrics
from aezsl.evaluation.ranking import Ranking
from aezsl.kinds import Values
from aezsl.selection import CalibrationSettings
from aezsl.serving.trained import TrainedModel


def apply_constant(
    seen: Ranking, unseen: Ranking, problem: Problem, confidence: Values, settings: CalibrationSettings
) -> tuple[Ranking, dict[str, Any]]:
    """The ranking among all classes after calibrated stacking; the constant, and what it was chosen for."""
    constant = Stacking(**confidence["stacking"]).constant_for(seen, unseen)
    ranking = merge(seen, unseen, constant, len(problem.S_seen), len(problem.S_unseen), max(HIT_KS))
    return ranking, {"calibration_constant": constant, "calibration_criterion": settings.criterion}


def evaluate_generalized(
    seen: Ranking,
    unseen: Ranking,
    ranking: Ranking,
    problem: Problem,
    trained: TrainedModel,
    calibration: dict[str, Any],
    settings: CalibrationSettings,
) -> tuple[dict[str, float], pd.DataFrame, pd.DataFrame]:
    """Metrics with and without calibration; the seen-unseen curve, and which point of it was chosen.

    ranking : among all classes, after calibration.
    """
    if not problem.labelled.any():
        raise DataError("the generalized setting is evaluated on labelled test images; this data has none")
    n_seen, constant = len(problem.S_seen), calibration["calibration_constant"]
    known = problem.labelled
    sides = problem.y_test[known], seen.subset(known), unseen.subset(known)
    metrics = gzsl_metrics(*sides, n_seen, constant, settings.per_class)
    metrics |= confidence_metrics(sides[0], ranking.subset(known), trained.temperature_for(ranking, mixed=True))
    curve = seen_unseen_curve(*sides, n_seen, settings.per_class)
    table = pd.DataFrame({"constant": curve.constants, "seen": curve.seen, "unseen": curve.unseen})
    points = curve.index(np.array([0.0, constant]))
    marked = table.iloc[points].assign(point=["uncalibrated", "calibrated"], constant=[0.0, constant])
    return metrics, table, marked
