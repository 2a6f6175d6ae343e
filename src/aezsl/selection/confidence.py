"""The confidence of a method's answers, calibrated on validation classes."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple

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
from aezsl.selection.calibration import Sides, all_targets, generalized_fold, learnt_spread, sides_of
from aezsl.selection.folds import LEAST_SEEN, class_split, fresh_folds, problem_folds, split_classes
from aezsl.selection.settings import CalibrationSettings, ConfidenceSettings, SelectionSettings
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.ties import optimism
from aezsl.selection.validation import Examined, Fold

log = logging.getLogger(__name__)

#: Validation classes from which on further folds say little more of how seen and unseen classes compete.
ENOUGH = 20

#: Of pairs of images and classes: scores, best scores of a seen class, whether the class is true, and weights.
Pairs = tuple[Array, Array, Mask, Array]


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
    """What makes probabilities of the method's scores in spreads, by the rule of ``aezsl.evaluation.confidence``.

    The method with its chosen parameters is fitted once for every fold (see ``fresh_folds``), without the validation
    classes, and names their images among them; all folds are calibrated together. Where parameters were chosen on these
    folds, their accuracy is too good by what the ``scores`` of the selection say. The first folds, until they hold
    ``ENOUGH`` classes, leave out a share of the other classes' images, too: these are named among all classes beside
    those of the validation classes, which gives the constant of calibrated stacking.

    Nothing is calibrated where that would cost as much as the training itself, or more than memory holds: methods
    trained by epochs, problems in files. The generalized setting has its constant in any case.
    """
    method = make_method(name, **chosen)
    reason = _reason_against(name, problem, settings)
    if reason:
        log.info("%s: probabilities are not calibrated: %s", name, reason)
    parts = [] if reason else ["unseen"]
    too_good = 0.0 if reason else _optimism(problem, selection, scores)
    if problem.setting == "gzsl" or not (reason or _lacks_images(problem, selection, calibration)):
        parts.append("all")
    if not parts:
        store.forget()
        return Confidence()
    described: dict[str, Any] = {"way": normalisation, "chosen": dict(chosen), "parts": parts}
    described["optimism"] = too_good
    asked = {"selection": selection, "settings": settings, "calibration": calibration}
    described |= {key: given.model_dump() for key, given in asked.items()}
    key = selection_key(problem.seen_fingerprint, name, described)
    table = store.find(key, len(parts))
    if table is None:
        with small_products():
            found = _validate(method, problem, normalisation, selection, settings, calibration, parts, too_good)
        rows = [{"among": part, **_as_row(one)} for part, one in found.items()]
        table = pd.DataFrame(rows).assign(point=range(len(rows)), key=key)
        store.save(table)
    return _read(name, table)


def _validate(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    selection: SelectionSettings,
    settings: ConfidenceSettings,
    calibration: CalibrationSettings,
    parts: Sequence[str],
    too_good: float,
) -> dict[str, Calibration]:
    """Part -> what the folds say of it."""
    folds = fresh_folds(problem, selection)
    n_first = min(selection.n_folds, -(-ENOUGH // len(folds[0])), len(folds))
    if "unseen" not in parts:
        folds = folds[:n_first]
    given = parts, calibration, selection.seed
    named = [
        _name_fold(method, problem, normalisation, held_out, *given, first=number < n_first)
        for number, held_out in enumerate(folds)
    ]
    found = {}
    if "unseen" in parts:
        found["unseen"] = _among_unseen(named, folds, settings, too_good)
    if "all" in parts:
        sides = [one.sides for one in named if one.sides]
        n_seen = len(problem.S_seen)
        found["all"] = _among_all(sides, method.transductive, n_seen, calibration, settings.none_share)
    return found


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


class _Named(NamedTuple):
    """What a fold says."""

    y: Labels  # of the images of its validation classes
    among_unseen: Ranking | None  # these images among these classes, scores in spreads
    pairs: Pairs | None
    sides: Sides | None  # these images and held-out ones of the other classes, among all


def _name_fold(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    held_out: Labels,
    parts: Collection[str],
    calibration: CalibrationSettings,
    seed: int,
    first: bool,
) -> _Named:
    """One fit, whatever it is asked for; ``first``: also for all classes, and for yes and no."""
    whole = first and "all" in parts
    if whole:
        share = calibration.seen_test_fraction
        true, fold = generalized_fold(problem.seen_data, held_out, share, seed, problem.shared)
    else:  # under this name decompositions are taken over that the search for parameters has made
        training, (X, true, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        given = split_classes(problem.given_seen, held_out)
        fold = Fold(training, X, S, held_out.tobytes(), problem.shared, given)
    (examined,) = fold.examined([problem.pending(normalisation)])
    model = clone(method).fit_seen(examined.seen)
    n_seen = len(examined.seen.S) if whole else 0
    everyone = model.adapt_to(all_targets(examined, method.transductive)) if whole else None
    sides = sides_of(everyone, examined, true, SHARING + 1) if everyone else None
    y = true[true >= n_seen] - n_seen
    if "unseen" not in parts:
        return _Named(y, None, None, sides)
    own = examined._replace(X=examined.X[true >= n_seen])
    alone = model.adapt(own.S, given=own.given)
    # A method with a pool names the images together, and says yes or no of each by itself.
    together = model.adapt(own.S, own.X, own.given) if method.transductive else alone
    pairs = _pairs(model, alone, None if method.transductive else everyone, own, y) if first else None
    ranking = together.rank(own.X, SHARING + 1).scaled(1 / learnt_spread(model, examined.seen))
    return _Named(y, ranking, pairs, sides)


def _among_unseen(
    named: Sequence[_Named], folds: Sequence[Labels], settings: ConfidenceSettings, too_good: float
) -> Calibration:
    """From images of validation classes that are named among these; too_good: see ``optimism``."""
    rankings = [one.among_unseen for one in named if one.among_unseen]
    accuracies = np.concatenate(
        [
            class_accuracies(one.y, ranking.classes[:, 0], len(fold))
            for one, ranking, fold in zip(named, rankings, folds, strict=True)
        ]
    )
    honest = float(np.clip(np.nanmean(accuracies) - max(too_good, 0.0), 0, 1))
    n_classes = len(np.unique(np.concatenate(folds)))
    expectation = Expectation(honest, float(np.nanstd(accuracies, ddof=1)), n_classes, len(folds[0]))
    expected = expectation.among_classes(len(folds[0])).accuracy
    labels = np.concatenate([one.y for one in named])
    found = calibrate(Ranking.concatenate(rankings), labels, settings.none_share, expected)
    pairs = [one.pairs for one in named if one.pairs]
    yes_no = fit_yes_no(*(np.concatenate(part) for part in zip(*pairs, strict=True)))
    return replace(found, confidence=replace(found.confidence, expectation=expectation, yes_no=yes_no))


def _pairs(
    model: ZeroShotClassifier,
    alone: TargetClassifier,
    everyone: TargetClassifier | None,
    examined: Examined[Array],
    y: Labels,
) -> Pairs:
    """All pairs of images and validation classes.

    everyone : the classifier of seen and validation classes, where there is one that learnt from no pool.
    """
    seen, X, S, _ = examined
    scores, chosen = alone.scores(X), rival_classes(len(seen.S))
    if everyone is None:
        rivals = model.adapt(seen.S[chosen], given=seen.given[chosen]).scores(X)
    else:
        rivals = everyone.scores(X)[:, chosen]
    true = np.arange(len(S)) == y[:, None]
    # With its own class in the list and without it: a class that is not true is asked about twice.
    weights = np.where(true, 1.0, 2.0) / len(S)
    return scores.ravel(), np.repeat(rivals.max(axis=1), len(S)), true.ravel(), weights.ravel()


def _among_all(
    sides: Sequence[Sides], relative: bool, n_seen: int, calibration: CalibrationSettings, none_share: float
) -> Calibration:
    """From images of validation classes and held-out ones of the others, named among all classes.

    The constant is the one that is best on them by ``calibration.criterion``. relative : scores have a scale that
    depends on the pool and are measured by their spread.
    """
    folds = [fold.relative() if relative else fold for fold in sides]
    curves = [seen_unseen_curve(*fold[:4], calibration.per_class) for fold in folds]
    constant = choose_constant(*curves, criterion=calibration.criterion)
    merged = [merge(fold.seen, fold.unseen, constant, fold.n_seen, fold.n_unseen, SHARING + 1) for fold in folds]
    if relative:
        merged = [ranking.scaled(1 / spread(ranking)) for ranking in merged]
    ranking, true = Ranking.concatenate(merged), np.concatenate([fold.true for fold in folds])
    n_classes = sum(fold.n_unseen for fold in folds)
    expected = cautious(float(np.mean(ranking.classes[:, 0] == true)), n_classes, 1 / n_seen)
    found = calibrate(ranking, true, none_share, expected)
    assert found.confidence.temperature is not None  # it was calibrated
    rule = found.confidence.temperature, found.confidence.threshold
    return replace(found, confidence=Confidence(stacking=Stacking(constant, *rule, relative)))
