"""The confidence of a method's answers, calibrated on validation classes."""

import logging

import numpy as np
import pandas as pd
from sklearn.base import clone

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.evaluation.confidence import SHARING, Calibration, Confidence, calibrate
from aezsl.evaluation.ranking import Ranking
from aezsl.kinds import Values
from aezsl.machine.workers import small_products
from aezsl.methods import METHODS, ZeroShotClassifier, make_method
from aezsl.selection.folds import LEAST_SEEN, class_split, problem_folds
from aezsl.selection.settings import ConfidenceSettings, SelectionSettings
from aezsl.selection.store import SelectionStore, selection_key
from aezsl.selection.validation import Fold

log = logging.getLogger(__name__)


def validated_confidence(
    name: str,
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    selection: SelectionSettings,
    settings: ConfidenceSettings,
    store: SelectionStore,
) -> Confidence:
    """What makes probabilities of the method's scores, by the rule of ``aezsl.evaluation.confidence``.

    The method with its chosen parameters is fitted once for every fold of the selection, without the validation
    classes, and names their images among them; all folds are calibrated together. Nothing is calibrated where that
    would cost as much as the training itself, or more than memory holds: methods trained by epochs, problems in files.
    """
    if not settings.calibrate or (reason := _reason_against(name, problem)):
        if settings.calibrate:
            log.info("%s: probabilities are not calibrated: %s", name, reason)
        store.forget()
        return Confidence()
    described = {
        "way": normalisation,
        "chosen": dict(chosen),
        "selection": selection.model_dump(),
        "settings": settings.model_dump(),
    }
    key = selection_key(problem.seen_fingerprint, name, described)
    table = store.find(key, 1)
    if table is None:
        found = _validate(make_method(name, **chosen), problem, normalisation, selection, settings.none_share)
        table = pd.DataFrame([{"point": 0, "key": key, **vars(found.confidence), **_measured(found)}])
        store.save(table)
    row = table.iloc[0]
    log.info(
        "%s: on %d validation images %.1f%% of the names are right; below %.0f%% an answer is none of these, which "
        "%.1f%% of the right ones are called, and %.1f%% of images whose class is taken away",
        name, row["n_images"], 100 * row["accuracy"], 100 * row["threshold"], 100 - 100 * row["kept"],
        100 * row["refused"],
    )  # fmt: skip
    return Confidence(float(row["temperature"]), float(row["threshold"]))


def _reason_against(name: str, problem: Problem) -> str:
    if METHODS[name].epochs:
        return "the method would have to be trained again for every fold"
    if problem.X_train.dtype != np.float64:
        return "the problem is kept in files"
    if len(problem.S_seen) < LEAST_SEEN:
        return f"there are fewer than {LEAST_SEEN} seen classes"
    return ""


def _validate(
    method: ZeroShotClassifier,
    problem: Problem,
    normalisation: Normalisation,
    selection: SelectionSettings,
    none_share: float,
) -> Calibration:
    rankings, labels = [], []
    with small_products():
        for held_out in problem_folds(problem, selection):
            training, (X, y, S) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
            # Under this name decompositions are taken over that the search for parameters has made.
            fold = Fold(training, X, S, held_out.tobytes(), problem.shared)
            ((seen, X_val, S_val),) = fold.examined([problem.pending(normalisation)])
            model = clone(method).fit_seen(seen)
            rankings.append(model.rank(np.asarray(X_val), S_val, SHARING + 1))
            labels.append(y)
    return calibrate(Ranking.concatenate(rankings), np.concatenate(labels), none_share)


def _measured(found: Calibration) -> dict[str, float]:
    return {key: getattr(found, key) for key in ("n_images", "accuracy", "kept", "refused")}
