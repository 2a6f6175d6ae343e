"""DAEZSL and its convolutional network, trained together from images."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.problem import Problem, build_problem
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import AnyVectors, Vectors, VectorSet
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.methods import ZeroShotClassifier, make_method
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.pipelines.training.nodes import assemble_problem, classes_without_vector
from aezsl.provenance import Cost
from aezsl.serving.recipe import Recipe

log = logging.getLogger(__name__)

BACKBONE = "googlenet"


def train_from_images(
    images: pd.DataFrame,
    semantics: AnyVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    checkpoint: CheckpointFolder,
    normalise: dict[str, list[str]],
    method: dict[str, Any],
    settings: dict[str, Any],
) -> tuple[ZeroShotClassifier, dict[str, Any], dict[str, Any], pd.DataFrame]:
    """The fitted method, the weights of its network, the cost, and the epochs. An interrupted run is resumed."""
    from aezsl.encoders.images.end_to_end import GoogLeNetFeatures, ImageInputs

    # A problem whose "features" are the row numbers of the images: names become indices in one place only.
    rows = np.arange(len(images), dtype=np.float64)[:, None]
    numbers = Vectors(images["image_id"].to_numpy(), rows)  # type: ignore[arg-type]  # exact, as float32 is not
    without = classes_without_vector(semantics)
    classes, split = (table[~table["class_name"].isin(without)] for table in (classes, split))
    problem = build_problem(numbers, semantics, classes, split, {**normalise, "features": []})
    paths = images["path"].iloc[problem.X_train[:, 0].astype(np.int64)].tolist()
    model: Any = make_method("daezsl", **method["init"])
    encoder = GoogLeNetFeatures(settings["weights"], model.random_state)
    log.info("training %s and DAEZSL on %d images of %d classes", BACKBONE, len(paths), len(problem.S_seen))
    with Cost("fit") as cost:
        trained = model.fit_end_to_end(ImageInputs(paths, encoder), problem.y_train, problem.S_seen, checkpoint)
    return model, trained.weights(), cost.measured, model.history()


def extract_adapted(
    images: pd.DataFrame, weights: Path, store: VectorStore, settings: dict[str, Any]
) -> tuple[VectorSet, dict[str, str]]:
    """Features of all images by the trained network."""
    return extract_to_store(make_backbone(BACKBONE, str(weights)), images, store, settings)


def assemble_adapted(
    features: AnyVectors,
    semantics: AnyVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: dict[str, str],
    attribute_names: list[str],
    weights: Path,
    checkpoint: CheckpointFolder,
    store: MappedArrays | None,
    normalise: dict[str, list[str]],
    embedding: dict[str, Any],
) -> tuple[Problem, dict[str, Any], Recipe]:
    """The problem in these features, of unit length as in training. The checkpoints have done their duty."""
    extraction = {"backbone": BACKBONE, "weights": str(weights), "layer": None}
    steps = {**normalise, "features": ["l2"]}
    tables = (features, semantics, classes, split, unreadable, attribute_names)
    checkpoint.clear()
    return assemble_problem(*tables, steps, extraction, embedding, store, setting="zsl")
