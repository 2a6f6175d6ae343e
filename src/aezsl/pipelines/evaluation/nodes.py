"""Predictions, metrics and the picture of them."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Labels
from aezsl.data.benchmark import Candidates
from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.calibration import merge, seen_unseen_curve
from aezsl.evaluation.confidence import Stacking
from aezsl.evaluation.hierarchy import Hierarchy, feasible_sets
from aezsl.evaluation.metrics import (
    HIT_KS,
    class_accuracies,
    classification_metrics,
    confidence_metrics,
    confusions,
    gzsl_metrics,
    metrics_in,
)
from aezsl.evaluation.ranking import Ranking, ScoreTable
from aezsl.kinds import CountOrNone, Settings, Values
from aezsl.machine.screen import ON_SCREEN
from aezsl.methods import TargetClassifier
from aezsl.selection import CalibrationSettings
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)


class EvaluationSettings(Settings):
    """What is listed of the test images."""

    n_confusions: CountOrNone = 20
    """Most frequent confusions of one class with another that are listed."""
    scores: bool = False
    """true: scores.npz beside predictions.csv, the score of every test image for every class."""


def tabulate_predictions(ranking: Ranking, problem: Problem, trained: TrainedModel) -> pd.DataFrame:
    """One row per test image: what it is, what it was called and how surely, and the best classes."""
    mixed, names = problem.setting == "gzsl", problem.target_names
    answers = trained.answers(ranking, names, mixed, trained.groups(names))
    true = np.array([*names, None], dtype=object)[problem.y_test]  # None is the name of label -1
    space = {"label_space": "seen + unseen" if mixed else "unseen"}
    return pd.DataFrame({"image_id": problem.test_ids, "true": true, **answers.table(), **space})


def score_targets(
    classifier: TargetClassifier,
    ranking: Ranking,
    problem: Problem,
    normalisation: Normalisation,
    settings: EvaluationSettings,
) -> ScoreTable | tuple[()]:
    """The scores of every test image for every class, where ``evaluation.scores`` asks for them."""
    if not settings.scores or not len(problem.X_test):
        return ()
    scores = classifier.scores(problem.normalised(normalisation).X_test).astype(np.float32)
    return ScoreTable(problem.test_ids, problem.target_names, scores, ranking.classes[:, 0], problem.y_test)


def evaluate(ranking: Ranking, problem: Problem, hierarchy: Hierarchy | None = None) -> dict[str, float]:
    """All metrics of the conventional setting, over the test images with labels; none without any."""
    known = problem.labelled
    if not known.any():
        return {}
    return _measure(problem.y_test[known], ranking.subset(known), problem.target_names, hierarchy)


def _measure(true: Labels, ranking: Ranking, names: Sequence[str], hierarchy: Hierarchy | None) -> dict[str, float]:
    feasible = None if hierarchy is None else feasible_sets(hierarchy, names, only=np.unique(true))
    return classification_metrics(true, ranking, len(names), feasible)


def evaluate_candidates(
    ranking: Ranking,
    trained: TrainedModel,
    problem: Problem,
    normalisation: Normalisation,
    candidates: Candidates,
    name: str,
) -> dict[str, float]:
    """As ``evaluate``; with a hierarchy also hP@K, and with lists of candidate classes all of it for every list.

    Each list is a zero-shot problem of its own: the images of its classes, named among its classes, as the paper's
    2-hop, 3-hop and all. Their metrics are named ``2hop.hit_at_1`` and so on.
    """
    hierarchy = None if candidates.edges is None else Hierarchy.from_edges(candidates.edges)
    metrics = evaluate(ranking, problem, hierarchy)
    known = problem.labelled
    if not known.any():
        return metrics
    metrics |= confidence_metrics(problem.y_test[known], ranking.subset(known), trained.temperature_for(ranking))
    names, own = np.array(problem.target_names), problem.normalised(normalisation)
    for candidate_set, members in candidates.lists.items():
        classes = np.flatnonzero(np.isin(names, members))
        images = np.flatnonzero(np.isin(problem.y_test, classes))
        if not len(images):
            raise DataError(f"no test image is of a class of the candidates {candidate_set!r}: check the list")
        true = np.searchsorted(classes, problem.y_test[images])
        if len(classes) == len(names):  # solved already
            ranks = Ranking(ranking.classes[images], ranking.scores[images])
        else:
            X, given = own.X_test[images], None if own.given_target is None else own.given_target[classes]
            ranks = trained.model.adapt(own.S_target[classes], X, given).rank(X, max(HIT_KS))
        sizes = {"n_classes": float(len(classes)), "n_images": float(len(images))}
        found = sizes | _measure(true, ranks, names[classes].tolist(), hierarchy)
        metrics |= {f"{candidate_set}.{metric}": value for metric, value in found.items()}
    if candidates.lists:
        tabulate_candidates(metrics, methods=[name])
    return metrics


def tabulate_candidates(*metrics: dict[str, float], methods: Sequence[str]) -> pd.DataFrame:
    """The paper's large-scale table, shown and returned: one row per candidate set and method, in per cent."""
    columns = [metric.key for metric in metrics_in("large_scale")]
    sets = dict.fromkeys(name.partition(".")[0] for row in metrics for name in row if "." in name)
    rows = []
    for candidate_set in sets:
        for method, row in zip(methods, metrics, strict=True):
            sizes = {name: int(row[f"{candidate_set}.{name}"]) for name in ("n_classes", "n_images")}
            values = {name: round(100 * row.get(f"{candidate_set}.{name}", np.nan), 2) for name in columns}
            rows.append({"candidates": candidate_set, **sizes, "method": method, **values})
    table = pd.DataFrame(rows, columns=["candidates", "n_classes", "n_images", "method", *columns])
    if rows:
        log.info("per cent:\n%s", table.to_string(index=False), extra=ON_SCREEN)
    return table


def list_errors(ranking: Ranking, problem: Problem, settings: EvaluationSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy per class, best first, and the most frequent confusions; empty without test labels."""
    names = problem.target_names
    known = problem.labelled
    if not known.any():
        return pd.DataFrame(columns=["class_name", "images", "accuracy"]), pd.DataFrame(columns=["true", "predicted"])
    true, predicted = problem.y_test[known], ranking.classes[known, 0]
    per_class = pd.DataFrame(
        {
            "class_name": names,
            "images": np.bincount(true, minlength=len(names)),
            "accuracy": class_accuracies(true, predicted, len(names)),
        }
    )
    worst = confusions(true, predicted, names, settings.n_confusions)
    return per_class.sort_values("accuracy", ascending=False, kind="stable"), worst


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
