"""The confidence of a method's answers, calibrated on validation classes."""

import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from aezsl.data.draws import held_out_mask
from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import choose_constant, merge, seen_unseen_curve
from aezsl.evaluation.confidence import SHARING, Calibration, Confidence, Stacking, calibrate, spread
from aezsl.evaluation.ranking import Ranking
from aezsl.kinds import Values
from aezsl.machine.workers import small_products
from aezsl.methods import METHODS, ZeroShotClassifier, make_method
from aezsl.selection.calibration import generalized_sides
from aezsl.selection.folds import LEAST_SEEN, class_split, problem_folds
from aezsl.selection.settings import CalibrationSettings, ConfidenceSettings, SelectionSettings
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.validation import Fold, Trial

log = logging.getLogger(__name__)


def validated_confidence(
    name: str,
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    selection: SelectionSettings,
    settings: ConfidenceSettings,
    calibration: CalibrationSettings,
    store: SelectionStore,
) -> Confidence:
    """What makes probabilities of the method's scores, by the rule of ``aezsl.evaluation.confidence``.

    The method with its chosen parameters is fitted once for every fold of the selection, without the validation
    classes, and names their images among them; all folds are calibrated together. It is fitted once more without a
    share of the other classes' images, too: all of these are named among all classes, which gives the constant of
    calibrated stacking.

    Nothing is calibrated where that would cost as much as the training itself, or more than memory holds: methods
    trained by epochs, problems in files. The generalized setting has its constant in any case.
    """
    method = make_method(name, **chosen)
    reason = _reason_against(name, problem, settings)
    if reason:
        log.info("%s: probabilities are not calibrated: %s", name, reason)
    parts: dict[str, Callable[[], Calibration]] = {}
    if not reason:
        parts["unseen"] = lambda: _among_unseen(method, problem, normalisation, selection, settings.none_share)
    if problem.setting == "gzsl" or not (reason or _lacks_images(problem, selection, calibration)):
        parts["all"] = lambda: _among_all(method, problem, normalisation, selection, calibration, settings.none_share)
    if not parts:
        store.forget()
        return Confidence()
    described: dict[str, Any] = {"way": normalisation, "chosen": dict(chosen), "parts": list(parts)}
    asked = {"selection": selection, "settings": settings, "calibration": calibration}
    described |= {key: given.model_dump() for key, given in asked.items()}
    key = selection_key(problem.seen_fingerprint, name, described)
    table = store.find(key, len(parts))
    if table is None:
        with small_products():
            found = [{"among": part, **_as_row(validate())} for part, validate in parts.items()]
        table = pd.DataFrame(found).assign(point=range(len(found)), key=key)
        store.save(table)
    return _read(name, table)


def _reason_against(name: str, problem: Problem, settings: ConfidenceSettings) -> str:
    if not settings.calibrate:
        return "confidence.calibrate is false"
    if METHODS[name].epochs:
        return "the method would have to be trained again for every fold"
    if problem.X_train.dtype != np.float64:
        return "the problem is kept in files"
    if len(problem.S_seen) < LEAST_SEEN:
        return f"there are fewer than {LEAST_SEEN} seen classes"
    return ""


def _lacks_images(problem: Problem, selection: SelectionSettings, calibration: CalibrationSettings) -> bool:
    """Whether no seen class has an image to spare."""
    return not held_out_mask(problem.y_train, calibration.seen_test_fraction, selection.seed).any()


def _as_row(found: Calibration) -> dict[str, float | None]:
    stacking = found.confidence.stacking
    rule = asdict(stacking) if stacking else {**asdict(found.confidence), "constant": 0.0, "relative": False}
    rule.pop("stacking", None)
    return {**rule, **{key: getattr(found, key) for key in ("n_images", "accuracy", "kept", "refused")}}


def _read(name: str, table: pd.DataFrame) -> Confidence:
    confidence = Confidence()
    for row in table.sort_values("point").to_dict("records"):
        log.info(
            "%s, among %s classes: on %d validation images %.1f%% of the names are right; below %.0f%% an answer is "
            "none of these, which %.1f%% of the right ones are called, and %.1f%% of images whose class is taken away",
            name, row["among"], row["n_images"], 100 * row["accuracy"], 100 * row["threshold"],
            100 - 100 * row["kept"], 100 * row["refused"],
        )  # fmt: skip
        rule = float(row["temperature"]), float(row["threshold"])
        if row["among"] == "all":
            log.info("%s: calibration constant %.6g", name, row["constant"])
            stacking = Stacking(float(row["constant"]), *rule, bool(row["relative"]))
            confidence = replace(confidence, stacking=stacking)
        else:
            confidence = Confidence(*rule)
    return confidence


def _among_unseen(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    selection: SelectionSettings,
    none_share: float,
) -> Calibration:
    """From images of validation classes that are named among these."""
    rankings, labels = [], []
    for held_out in problem_folds(problem, selection):
        training, (X, y, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        # Under this name decompositions are taken over that the search for parameters has made.
        fold = Fold(training, X, S, held_out.tobytes(), problem.shared)
        ((seen, X_val, S_val),) = fold.examined([problem.pending(normalisation)])
        model = clone(method).fit_seen(seen)
        rankings.append(model.rank(np.asarray(X_val), S_val, SHARING + 1))
        labels.append(y)
    return calibrate(Ranking.concatenate(rankings), np.concatenate(labels), none_share)


def _among_all(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    selection: SelectionSettings,
    calibration: CalibrationSettings,
    none_share: float,
) -> Calibration:
    """From images of validation classes and held-out ones of the others, named among all classes.

    The constant is the one that is best on them by ``calibration.criterion``. Scores of a transductive method have a
    scale that depends on its pool: they are measured by their spread.
    """
    data = problem.X_train, problem.y_train, problem.S_seen
    trial = Trial(method, [{}], [problem.pending(normalisation)], problem.shared)
    folds = [
        fold.relative() if method.transductive else fold
        for held_out in problem_folds(problem, selection)
        for fold in generalized_sides(trial, data, held_out, calibration, selection.seed, SHARING + 1)
    ]
    curves = [seen_unseen_curve(*fold[:4], calibration.per_class) for fold in folds]
    constant = choose_constant(*curves, criterion=calibration.criterion)
    merged = [merge(fold.seen, fold.unseen, constant, fold.n_seen, fold.n_unseen, SHARING + 1) for fold in folds]
    if method.transductive:
        merged = [ranking.scaled(1 / spread(ranking)) for ranking in merged]
    found = calibrate(Ranking.concatenate(merged), np.concatenate([fold.true for fold in folds]), none_share)
    assert found.confidence.temperature is not None  # it was calibrated
    rule = found.confidence.temperature, found.confidence.threshold
    return replace(found, confidence=Confidence(stacking=Stacking(constant, *rule, method.transductive)))
