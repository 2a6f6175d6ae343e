"""Own images beside what a network knows: its classes are seen classes too, so that few own ones are enough."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import Normalisation, NormaliseSettings
from aezsl.data.problem import Problem
from aezsl.data.vectors import NamedVectors, Vectors
from aezsl.encoders.assembly import assemble_problem
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts.semantics import EmbeddingSettings, embed_classes, semantics_fingerprint
from aezsl.evaluation.confidence import Confidence, Stacking
from aezsl.kinds import Positive, Settings
from aezsl.machine.provenance import Cost
from aezsl.methods import TargetClassifier
from aezsl.methods.heads.methods import RIDGE, AEZSLHeads, with_own_classes
from aezsl.methods.heads.union import SeenClassifiers
from aezsl.pipelines.photos.nodes import PhotosSettings
from aezsl.serving.photos import CONFIDENCE, photo_model
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)


class OwnSettings(Settings):
    """Own images beside what a network knows: --pipeline=photos_own, or gzsl_photos_own for known and new classes.

    The network is photos.network. Any number of own seen classes will do, none too.
    """

    knowledge: Literal["networks", "none"] = "networks"
    """networks: the classes in the last layer of the network are seen classes, too. none: only own classes are, of
    which there must be two; so it is wherever classes are described by numbers and not by texts."""
    ridge: Positive = RIDGE
    """How little own classes count against those of the network: the penalty on their classifiers. The default was best
    on held-out classes of ImageNet, seen and unseen together; 0.3 to 1 were within a point of it."""


def uses_networks(own: OwnSettings, classes: pd.DataFrame) -> bool:
    """Whether the network's classes can be compared with these, and shall be."""
    return own.knowledge == "networks" and "text" in classes


def assemble_own(
    *,
    features: NamedVectors,
    semantics: NamedVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: Mapping[str, str],
    attribute_names: list[str],
    store: MappedArrays | None,
    photos: PhotosSettings,
    own: OwnSettings,
    setting: str,
) -> tuple[Problem, dict[str, Any], Recipe]:
    """The problem in the features that the network's last layer reads, and in the vectors of its classes."""
    knows = uses_networks(own, classes)
    if knows:
        semantics = _vectors(classes, photo_model(photos.network).recipe.sources)
    elif own.knowledge == "networks":
        log.warning(
            "classes are described by numbers, a network knows its own by words: only your own classes are seen ones. "
            "Add a column description, or try other methods that learn from numbers: --pipeline=aezsl"
        )
    return assemble_problem(
        features=features,
        semantics=semantics,
        classes=classes,
        split=split,
        unreadable=unreadable,
        attribute_names=[] if knows else attribute_names,
        normalise=NormaliseSettings(features=[], semantics=[]),
        extraction=ExtractionSettings(backbone=photos.network),
        embedding=EmbeddingSettings(),
        store=store,
        setting=setting,
        least_seen=(1 if setting == "gzsl" else 0) if knows else 2,
    )


def _vectors(classes: pd.DataFrame, sources: list[dict[str, Any]]) -> Vectors:
    """The vectors of the descriptions, as those of the network's classes were made."""
    names, vectors = classes["class_name"].to_numpy(), embed_classes(classes, sources)
    return Vectors(names, vectors, semantics_fingerprint(classes, sources), {"sources": sources})


def fit_own(
    problem: Problem, recipe: Recipe, photos: PhotosSettings, own: OwnSettings
) -> tuple[TrainedModel, Normalisation, TargetClassifier, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The photo model with the own classes, its classifier of the targets, what both cost, and its confidence.

    Scores are logarithms of probabilities on either side: nothing is subtracted from those of seen classes.
    """
    known = photo_model(photos.network)
    knows = uses_networks(own, recipe.classes)
    with Cost("fit") as fit_cost:
        model = AEZSLHeads().fit(_seen(known, problem, own, alone=not knows))
    with Cost("adapt") as adapt_cost:
        classifier = model.adapt(problem.S_target)
    (normalisation,) = problem.normalisations
    temperature, threshold = CONFIDENCE.temperature or 1.0, CONFIDENCE.threshold if knows else 0.0
    confidence = Confidence(temperature, threshold, Stacking(0.0, temperature, threshold))
    trained = TrainedModel(model, replace(recipe, backbone=known.recipe.backbone), confidence)
    return trained, normalisation, classifier, fit_cost.measured, adapt_cost.measured, asdict(confidence)


def _seen(known: TrainedModel, problem: Problem, own: OwnSettings, alone: bool) -> SeenClassifiers:
    seen: SeenClassifiers = known.model.seen_  # type: ignore[attr-defined]
    if not len(problem.S_seen):
        return seen
    X = np.asarray(problem.X_train, dtype=np.float64)
    return with_own_classes(seen, X, problem.y_train, problem.S_seen, own.ridge, alone)
