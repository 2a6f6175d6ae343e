"""The generalized setting: test images of seen and unseen classes, told apart among all of them."""

import logging
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import SeenUnseenCurve, choose_constant, merge, seen_unseen_curve
from aezsl.evaluation.metrics import HIT_KS, gzsl_metrics
from aezsl.evaluation.ranking import Ranking
from aezsl.methods import ZeroShotClassifier, make_method
from aezsl.pipelines.training.nodes import make_record
from aezsl.provenance import Cost
from aezsl.selection import class_folds, class_split, held_out_mask

log = logging.getLogger(__name__)


def calibrate(
    problem: Problem, chosen: dict[str, Any], selection: dict[str, Any], settings: dict[str, Any], name: str
) -> dict[str, Any]:
    """The constant to subtract from seen scores, from validation classes and held-out training images."""
    _require_generalized(problem)
    curves: list[SeenUnseenCurve] = []
    for held_out in class_folds(len(problem.S_seen), len(problem.S_unseen), **selection):
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        test = held_out_mask(y, settings["seen_test_fraction"], selection["seed"])
        model = make_method(name, **chosen).fit(X[~test], y[~test], S)
        X_all = np.vstack([X[test], X_val])
        seen, unseen = model.rank_sides(X_all, np.vstack([S, S_val]), len(S), 1)
        true = np.concatenate([y[test], y_val + len(S)])
        curves.append(seen_unseen_curve(true, seen, unseen, len(S), settings["per_class"]))
    constant = choose_constant(*curves, criterion=settings["criterion"])
    log.info("%s: calibration constant %.6g (criterion %s)", name, constant, settings["criterion"])
    return {"calibration_constant": constant, "calibration_criterion": settings["criterion"]}


def rank_both_sides(
    model: ZeroShotClassifier, fit_cost: dict[str, Any], problem: Problem
) -> tuple[Ranking, Ranking, dict[str, Any]]:
    """Test images ranked among seen and among unseen classes, from scores for all classes together; and the cost."""
    _require_generalized(problem)
    with Cost("rank") as cost:
        sides = model.rank_sides(problem.X_test, problem.S_target, len(problem.S_seen), max(HIT_KS))
    return *sides, make_record(fit_cost | cost.measured, problem)


def apply_constant(seen: Ranking, unseen: Ranking, problem: Problem, calibration: dict[str, Any]) -> Ranking:
    """The ranking among all classes after calibrated stacking."""
    n_seen, n_unseen = len(problem.S_seen), len(problem.S_unseen)
    return merge(seen, unseen, calibration["calibration_constant"], n_seen, n_unseen, max(HIT_KS))


def evaluate_generalized(
    seen: Ranking, unseen: Ranking, problem: Problem, calibration: dict[str, Any], settings: dict[str, Any]
) -> tuple[dict[str, float], pd.DataFrame, pd.DataFrame]:
    """Metrics with and without calibration; the seen-unseen curve, and which point of it was chosen."""
    if problem.y_test is None:
        raise ValueError("the generalized setting is evaluated on labelled test images; this data has none")
    n_seen, constant = len(problem.S_seen), calibration["calibration_constant"]
    known = problem.y_test >= 0
    sides = problem.y_test[known], seen.of(known), unseen.of(known)
    metrics = gzsl_metrics(*sides, n_seen, constant, settings["per_class"])
    curve = seen_unseen_curve(*sides, n_seen, settings["per_class"])
    table = pd.DataFrame({"constant": curve.constants, "seen": curve.seen, "unseen": curve.unseen})
    points = curve.index(np.array([0.0, constant]))
    marked = table.iloc[points].assign(point=["uncalibrated", "calibrated"], constant=[0.0, constant])
    return metrics, table, marked


def _require_generalized(problem: Problem) -> None:
    if problem.setting != "gzsl":
        raise ValueError(f"the generalized setting needs a problem built for it, got one for {problem.setting!r}")
