"""The stages of every method: choose parameters, fit on seen classes, adapt to the targets, rank the test images."""

from dataclasses import asdict
from typing import Any, cast

import pandas as pd

from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.encoders.recipe import Recipe
from aezsl.evaluation.confidence import Confidence
from aezsl.evaluation.metrics import HIT_KS
from aezsl.evaluation.ranking import Ranking
from aezsl.kinds import Values
from aezsl.machine.provenance import Cost, make_record
from aezsl.methods import METHODS, TargetClassifier, ZeroShotClassifier, make_method
from aezsl.methods.core.seen import SeenData
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.selection import (
    CalibrationSettings,
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    learnt_spread,
    validated_confidence,
)
from aezsl.serving.trained import TrainedModel


def calibrate_confidence(
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    selection: SelectionSettings,
    confidence: ConfidenceSettings,
    calibration: CalibrationSettings,
    store: SelectionStore,
    scores: SelectionStore,
    name: str,
) -> dict[str, Any]:
    """What makes probabilities of scores, and lets seen and unseen classes compete, found on validation classes."""
    given = selection, confidence, calibration, store, scores
    return asdict(validated_confidence(name, problem, normalisation, chosen, *given))


def fit(
    problem: Problem, normalisation: Normalisation, chosen: Values, recipe: Recipe, confidence: Values, name: str
) -> tuple[TrainedModel, dict[str, Any]]:
    """The method, fitted on all seen classes, with its recipe and confidence; and what the fit cost."""
    own = problem.normalised(normalisation)
    recipe, model = recipe.as_in(own), make_method(name, **chosen)
    if METHODS[name].paired and not chosen.get("stated_pair"):
        recipe.require_pair(name)
    with Cost("fit") as cost:
        model.fit(*own.seen_data)
    return _trained(model, recipe, confidence, own), cost.measured


def fit_by_epochs(
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    recipe: Recipe,
    confidence: Values,
    checkpoint: CheckpointFolder,
    name: str,
) -> tuple[TrainedModel, dict[str, Any], pd.DataFrame]:
    """As ``fit`` for a method trained by epochs: an interrupted run is resumed, and the epochs are a table."""
    own, model = problem.normalised(normalisation), cast(Any, make_method(name, **chosen))
    with Cost("fit") as cost:
        model.fit_resumable(own.X_train, own.y_train, own.S_seen, checkpoint)
    trained = TrainedModel(model, recipe.as_in(own), Confidence.from_mapping(confidence))
    return trained, cost.measured, model.training_history()


def fit_around_base(
    base: TrainedModel,
    base_normalisation: Normalisation,
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    recipe: Recipe,
    confidence: Values,
    name: str,
) -> tuple[TrainedModel, dict[str, Any]]:
    """The method around the base that is fitted already, and what its own part cost.

    Where the method works in another normalisation than the base by itself, it fits one of its own.
    """
    model = cast(Any, make_method(name, **chosen))
    if normalisation != base_normalisation or not model.starts_from(base.model):
        return fit(problem, normalisation, chosen, recipe, confidence, name)
    own = problem.normalised(normalisation)
    with Cost("fit") as cost:
        model.fit_around(base.model, SeenData(*own.seen_data[:3], given=own.given_seen))
    return _trained(model, base.recipe, confidence, own), cost.measured


def _trained(model: ZeroShotClassifier, recipe: Recipe, confidence: Values, own: Problem) -> TrainedModel:
    """The fitted method with its recipe, and with its confidence for its own scores."""
    found = Confidence.from_mapping(confidence)
    if found.temperature is not None:
        found = found.in_scores(learnt_spread(model, SeenData(*own.seen_data[:3], given=own.given_seen)))
    return TrainedModel(model, recipe, found)


def adapt(
    trained: TrainedModel, problem: Problem, normalisation: Normalisation
) -> tuple[TargetClassifier, dict[str, Any]]:
    """The classifier of the target classes, and what it cost to solve for them."""
    own = problem.normalised(normalisation)
    with Cost("adapt") as cost:
        classifier = trained.model.adapt(own.S_target, given=own.given_target)
    return classifier, cost.measured


def rank_targets(
    classifier: TargetClassifier, problem: Problem, normalisation: Normalisation, fit_cost: Values, adapt_cost: Values
) -> tuple[Ranking, dict[str, Any]]:
    """The best target classes of every test image, and the record of cost and origin."""
    own = problem.normalised(normalisation)
    with Cost("rank") as cost:
        if len(own.X_test):
            ranking = classifier.rank(own.X_test, max(HIT_KS))
        else:
            ranking = Ranking.empty(min(max(HIT_KS), len(problem.S_target)))
    return ranking, make_record({**fit_cost, **adapt_cost, **cost.measured}, problem.fingerprint)


def rank_both_sides(
    classifier: TargetClassifier, problem: Problem, normalisation: Normalisation, fit_cost: Values, adapt_cost: Values
) -> tuple[Ranking, Ranking, dict[str, Any]]:
    """Test images ranked among seen and among unseen classes, from scores for all classes together; and the record."""
    problem.require("gzsl")
    own = problem.normalised(normalisation)
    with Cost("rank") as cost:
        sides = classifier.rank_sides(own.X_test, len(problem.S_seen), max(HIT_KS))
    return *sides, make_record({**fit_cost, **adapt_cost, **cost.measured}, problem.fingerprint)
