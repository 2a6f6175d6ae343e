"""The generalized setting: test images of seen and unseen classes, told apart among all of them."""

import logging
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.calibration import merge, seen_unseen_curve
from aezsl.evaluation.metrics import HIT_KS, gzsl_metrics
from aezsl.evaluation.ranking import Ranking
from aezsl.kinds import Values
from aezsl.selection import CalibrationSettings, SelectionSettings, validated_constant

log = logging.getLogger(__name__)


def calibrate(
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    selection: SelectionSettings,
    settings: CalibrationSettings,
    name: str,
) -> dict[str, Any]:
    """The constant to subtract from seen scores, from validation classes and held-out training images."""
    constant = validated_constant(name, problem, normalisation, chosen, selection, settings)
    log.info("%s: calibration constant %.6g (criterion %s)", name, constant, settings.criterion)
    return {"calibration_constant": constant, "calibration_criterion": settings.criterion}


def apply_constant(seen: Ranking, unseen: Ranking, problem: Problem, calibration: dict[str, Any]) -> Ranking:
    """The ranking among all classes after calibrated stacking."""
    n_seen, n_unseen = len(problem.S_seen), len(problem.S_unseen)
    return merge(seen, unseen, calibration["calibration_constant"], n_seen, n_unseen, max(HIT_KS))


def evaluate_generalized(
    seen: Ranking, unseen: Ranking, problem: Problem, calibration: dict[str, Any], settings: CalibrationSettings
) -> tuple[dict[str, float], pd.DataFrame, pd.DataFrame]:
    """Metrics with and without calibration; the seen-unseen curve, and which point of it was chosen."""
    if not problem.labelled.any():
        raise DataError("the generalized setting is evaluated on labelled test images; this data has none")
    n_seen, constant = len(problem.S_seen), calibration["calibration_constant"]
    known = problem.labelled
    sides = problem.y_test[known], seen.subset(known), unseen.subset(known)
    metrics = gzsl_metrics(*sides, n_seen, constant, settings.per_class)
    curve = seen_unseen_curve(*sides, n_seen, settings.per_class)
    table = pd.DataFrame({"constant": curve.constants, "seen": curve.seen, "unseen": curve.unseen})
    points = curve.index(np.array([0.0, constant]))
    marked = table.iloc[points].assign(point=["uncalibrated", "calibrated"], constant=[0.0, constant])
    return metrics, table, marked
