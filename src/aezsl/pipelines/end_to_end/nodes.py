"""DAEZSL and its convolutional network, trained together from images."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.build import build_problem, drop_undescribed
from aezsl.data.normalise import Normalisation, NormaliseSettings, Steps
from aezsl.data.problem import Problem
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import NamedVectors, Vectors, VectorSet
from aezsl.encoders.assembly import assemble_problem
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.kinds import Settings, Text
from aezsl.machine.provenance import Cost
from aezsl.methods import TargetClassifier, ZeroShotClassifier, make_method
from aezsl.methods.core.parameters import MethodSettings
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

BACKBONE = "googlenet"


class EndToEndSettings(Settings):
    """GoogLeNet and DAEZSL learn together from images, with daezsl's parameters (--pipeline=daezsl_end_to_end).

    Class vectors are normalised by the first of normalise.semantics.
    """

    weights: Text = "default"
    """Where GoogLeNet starts: default (torchvision's download), random, or a local .pth file."""


def train_from_images(
    images: pd.DataFrame,
    semantics: NamedVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    checkpoint: CheckpointFolder,
    normalise: NormaliseSettings,
    method: MethodSettings,
    settings: EndToEndSettings,
) -> tuple[ZeroShotClassifier, dict[str, Any], dict[str, Any], pd.DataFrame]:
    """The fitted method, the weights of its network, the cost, and the epochs. An interrupted run is resumed."""
    from aezsl.encoders.images.end_to_end import GoogLeNetFeatures, ImageInputs

    # A problem whose "features" are the row numbers of the images: names become indices in one place only.
    rows = np.arange(len(images), dtype=np.float64)[:, None]
    numbers = Vectors(images["image_id"].to_numpy(), rows)  # type: ignore[arg-type]  # exact, as float32 is not
    described = drop_undescribed(semantics, classes, split)
    problem = build_problem(numbers, semantics, *described, _fixed(normalise, []))
    paths = images["path"].iloc[problem.X_train[:, 0].astype(np.int64)].tolist()
    model: Any = make_method("daezsl", **method.fixed)
    encoder = GoogLeNetFeatures(settings.weights, model.random_state)
    log.info("training %s and DAEZSL on %d images of %d classes", BACKBONE, len(paths), len(problem.S_seen))
    with Cost("fit") as cost:
        trained = model.fit_end_to_end(ImageInputs(paths, encoder), problem.y_train, problem.S_seen, checkpoint)
    return model, trained.weights(), cost.measured, model.training_history()


def extract_adapted(
    images: pd.DataFrame, weights: Path, store: VectorStore, settings: ExtractionSettings
) -> tuple[VectorSet, dict[str, str]]:
    """Features of all images by the trained network."""
    return extract_to_store(make_backbone(BACKBONE, str(weights), device=settings.device), images, store, settings)


def assemble_adapted(
    weights: Path, normalise: NormaliseSettings, embedding: EmbeddingSettings, **parts: Any
) -> tuple[Problem, dict[str, Any], Recipe]:
    """The problem in these features, of unit length as in training."""
    extraction = ExtractionSettings(backbone=BACKBONE, weights=str(weights))
    fixed = NormaliseSettings(**_fixed(normalise, ["l2"]))
    return assemble_problem(**parts, normalise=fixed, extraction=extraction, embedding=embedding, setting="zsl")


def _fixed(normalise: NormaliseSettings, features: list[str]) -> dict[str, Steps]:
    """The steps of the semantics as given, the first of several alternatives: nothing here could choose among them."""
    return {"features": features, "semantics": normalise.alternatives()["semantics"][0]}


def adapt(
    fitted: ZeroShotClassifier, recipe: Recipe, problem: Problem
) -> tuple[TrainedModel, Normalisation, TargetClassifier, dict[str, Any]]:
    """The model with its recipe, how vectors were normalised, the classifier of the targets, and what it cost."""
    with Cost("adapt") as cost:
        classifier = fitted.adapt(problem.S_target, given=problem.given_target)
    (normalisation,) = problem.normalisations
    return TrainedModel(fitted, recipe), normalisation, classifier, cost.measured
