"""The confidence of a method's answers, calibrated on validation classes."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from aezsl.arrays import Array, Labels, Mask
from aezsl.data.draws import held_out_mask
from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import choose_constant, merge, seen_unseen_curve
from aezsl.evaluation.confidence import SHARING, Calibration, Confidence, Stacking, calibrate, spread
from aezsl.evaluation.expectation import Expectation, cautious
from aezsl.evaluation.metrics import class_accuracies
from aezsl.evaluation.ranking import Ranking
from aezsl.evaluation.yes_no import YesNo, fit_yes_no, rival_classes
from aezsl.kinds import Values
from aezsl.machine.workers import small_products
from aezsl.methods import METHODS, TargetClassifier, ZeroShotClassifier, make_method
from aezsl.selection.calibration import generalized_sides
from aezsl.selection.folds import LEAST_SEEN, class_split, fresh_folds, problem_folds, split_classes
from aezsl.selection.settings import CalibrationSettings, ConfidenceSettings, SelectionSettings
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.ties import optimism
from aezsl.selection.validation import Examined, Fold, Trial

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
    scores: SelectionStore,
) -> Confidence:
    """What makes probabilities of the method's scores, by the rule of ``aezsl.evaluation.confidence``.

    The method with its chosen parameters is fitted once for every fold (see ``fresh_folds``), without the validation
    classes, and names their images among them; all folds are calibrated together. Where parameters were chosen on these
    folds, their accuracy is too good by what the ``scores`` of the selection say. The method is fitted once more,
    without a share of the other classes' images, too: all of these are named among all classes, which gives the
    constant of calibrated stacking.

    Nothing is calibrated where that would cost as much as the training itself, or more than memory holds: methods
    trained by epochs, problems in files. The generalized setting has its constant in any case.
    """
    method = make_method(name, **chosen)
    reason = _reason_against(name, problem, settings)
    if reason:
        log.info("%s: probabilities are not calibrated: %s", name, reason)
    parts: dict[str, Callable[[], Calibration]] = {}
    too_good = 0.0
    if not reason:
        too_good = _optimism(problem, selection, scores)
        parts["unseen"] = lambda: _among_unseen(method, problem, normalisation, selection, settings, too_good)
    if problem.setting == "gzsl" or not (reason or _lacks_images(problem, selection, calibration)):
        parts["all"] = lambda: _among_all(method, problem, normalisation, selection, calibration, settings.none_share)
    if not parts:
        store.forget()
        return Confidence()
    described: dict[str, Any] = {"way": normalisation, "chosen": dict(chosen), "parts": list(parts)}
    described["optimism"] = too_good
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


def _optimism(problem: Problem, selection: SelectionSettings, scores: SelectionStore) -> float:
    """By how much the accuracy on the folds of the selection is too good; 0 where scores are of something else."""
    of_accuracy = problem.setting == "zsl" or selection.criterion == "accuracy"
    if not of_accuracy or not scores.path.is_file():
        return 0.0
    return optimism(pd.read_csv(scores.path), problem_folds(problem, selection))


def _reason_against(name: str, problem: Problem, settings: ConfidenceSettings) -> str:
    if not settings.calibrate:
        return "confidence.calibrate is false"
    if METHODS[name].epochs:
        return "the method would have to be trained again for every fold"
    if problem.X_train.dtype != np.float64:
        return "the problem is kept in files"
    if len(problem.S_seen) < LEAST_SEEN:
        return f"it takes images of at least {LEAST_SEEN} classes"
    return ""


def _lacks_images(problem: Problem, selection: SelectionSettings, calibration: CalibrationSettings) -> bool:
    """Whether no seen class has an image to spare."""
    return not held_out_mask(problem.y_train, calibration.seen_test_fraction, selection.seed).any()


def _as_row(found: Calibration) -> dict[str, float | None]:
    stacking = found.confidence.stacking
    rule = asdict(stacking) if stacking else {**asdict(found.confidence), "constant": 0.0, "relative": False}
    rule.pop("stacking", None)
    for part in ("expectation", "yes_no"):
        rule |= {f"{part}_{key}": value for key, value in (rule.pop(part, None) or {}).items()}
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
            yes_no = YesNo(*(float(row[f"yes_no_{field.name}"]) for field in fields(YesNo)))
            confidence = Confidence(*rule, expectation=_expectation(row), yes_no=yes_no)
    return confidence


def _expectation(row: Mapping[Any, Any]) -> Expectation:
    kinds = {"accuracy": float, "deviation": float, "n_classes": int, "among": int}
    return Expectation(**{name: kind(row[f"expectation_{name}"]) for name, kind in kinds.items()})


def _among_unseen(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    selection: SelectionSettings,
    settings: ConfidenceSettings,
    too_good: float,
) -> Calibration:
    """From images of validation classes that are named among these; too_good: see ``optimism``."""
    rankings, labels, by_class, pairs = [], [], [], []
    folds = fresh_folds(problem, selection)
    for held_out in folds:
        training, (X, y, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        # Under this name decompositions are taken over that the search for parameters has made.
        given = split_classes(problem.given_seen, held_out)
        fold = Fold(training, X, S, held_out.tobytes(), problem.shared, given)
        (examined,) = fold.examined([problem.pending(normalisation)])
        model = clone(method).fit_seen(examined.seen)
        alone = model.adapt(examined.S, given=examined.given)
        # A method with a pool names the images together, and says yes or no of each by itself.
        together = model.adapt(examined.S, examined.X, examined.given) if method.transductive else alone
        rankings.append(together.rank(examined.X, SHARING + 1))
        labels.append(y)
        by_class.append(class_accuracies(y, rankings[-1].classes[:, 0], len(S)))
        pairs.append(_pairs(model, alone, examined, y))
    accuracies, n_classes = np.concatenate(by_class), len(np.unique(np.concatenate(folds)))
    honest = float(np.clip(np.nanmean(accuracies) - max(too_good, 0.0), 0, 1))
    expectation = Expectation(honest, float(np.nanstd(accuracies, ddof=1)), n_classes, len(folds[0]))
    expected = expectation.among_classes(len(folds[0])).accuracy
    found = calibrate(Ranking.concatenate(rankings), np.concatenate(labels), settings.none_share, expected)
    yes_no = fit_yes_no(*(np.concatenate(part) for part in zip(*pairs, strict=True)))
    return replace(found, confidence=replace(found.confidence, expectation=expectation, yes_no=yes_no))


def _pairs(
    model: ZeroShotClassifier, alone: TargetClassifier, examined: Examined[Array], y: Labels
) -> tuple[Array, Array, Mask, Array]:
    """Of all pairs of images and validation classes: score, best score of a seen class, whether true, and weight."""
    seen, X, S, _ = examined
    scores = alone.scores(X)
    chosen = rival_classes(len(seen.S))
    rivals = model.adapt(seen.S[chosen], given=seen.given[chosen]).scores(X).max(axis=1)
    true = np.arange(len(S)) == y[:, None]
    # With its own class in the list and without it: a class that is not true is asked about twice.
    weights = np.where(true, 1.0, 2.0) / len(S)
    return scores.ravel(), np.repeat(rivals, len(S)), true.ravel(), weights.ravel()


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
    data = problem.seen_data
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
    ranking, true = Ranking.concatenate(merged), np.concatenate([fold.true for fold in folds])
    n_classes = sum(fold.n_unseen for fold in folds)
    expected = cautious(float(np.mean(ranking.classes[:, 0] == true)), n_classes, 1 / len(problem.S_seen))
    found = calibrate(ranking, true, none_share, expected)
    assert found.confidence.temperature is not None  # it was calibrated
    rule = found.confidence.temperature, found.confidence.threshold
    return replace(found, confidence=Confidence(stacking=Stacking(constant, *rule, method.transductive)))
