"""From tables and vectors to a problem, and to the recipe that brings new data to the same form."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.build import build_problem, drop_undescribed
from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import NormaliseSettings
from aezsl.data.problem import Problem
from aezsl.data.vectors import NamedVectors
from aezsl.encoders.images.settings import ExtractionSettings, named_backbones
from aezsl.encoders.recipe import BACKBONE_KEYS, KEPT_COLUMNS, Recipe
from aezsl.encoders.texts.semantics import EmbeddingSettings, resolve_sources

log = logging.getLogger(__name__)


def assemble_problem(
    *,
    features: NamedVectors,
    semantics: NamedVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: Mapping[str, str],
    attribute_names: list[str],
    normalise: NormaliseSettings,
    extraction: ExtractionSettings,
    embedding: EmbeddingSettings,
    store: MappedArrays | None,
    setting: str,
    least_seen: int = 2,
) -> tuple[Problem, dict[str, Any], Recipe]:
    """The validated problem, what a result on it depends on, and how to bring new data to the same form."""
    n_classes = len(classes)
    classes, split = drop_undescribed(semantics, classes, split)
    ways = normalise.alternatives()
    joins = semantics.config.get("joins", [[]])
    ways["semantics"] = [[*join, *steps] for join in joins for steps in ways["semantics"]]
    problem = build_problem(features, semantics, classes, split, ways, setting, list(unreadable), store, least_seen)
    summary = {
        **problem.summary(),
        "features_fingerprint": features.fingerprint,
        "semantics_fingerprint": semantics.fingerprint,
        "n_classes_without_vector": n_classes - len(classes),
    }
    log.info("problem: %s", ", ".join(f"{key}={value}" for key, value in summary.items()))
    if not len(problem.X_test):
        log.warning(
            "there are no images of unseen classes: models are trained and saved, nothing is predicted or measured. "
            "Name images later by --pipeline=predict, or add them to the data"
        )
    recipe = Recipe(
        backbone={
            "parts": [
                {key: one[key] for key in BACKBONE_KEYS}
                | ({"precision": one["precision"]} if one["precision"] != "float32" else {})
                for one in named_backbones(extraction)
            ],
            "fingerprint": features.fingerprint,
        },
        features=problem.feature_normaliser,
        semantics=problem.semantic_normaliser,
        sources=semantics.config.get("sources") or resolve_sources(classes, embedding.sources),
        attribute_names=attribute_names,
        classes=classes[[column for column in KEPT_COLUMNS if column in classes]],
        class_vectors=semantics.get(classes["class_name"].tolist(), "classes", "semantics"),
        example=features.take(np.arange(2)),
    )
    return problem, summary, recipe
