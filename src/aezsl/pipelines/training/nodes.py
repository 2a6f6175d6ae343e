"""Choose parameters on validation classes, fit on all seen classes, rank the test images."""

import hashlib
import json
import logging
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aezsl
from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.problem import Problem, build_problem
from aezsl.data.vectors import AnyVectors
from aezsl.encoders.texts.semantics import resolve_sources
from aezsl.evaluation.metrics import HIT_KS
from aezsl.evaluation.ranking import Ranking
from aezsl.methods import REFINES, LinearZeroShotClassifier, ZeroShotClassifier, make_method, method_class
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.provenance import Cost, git_commit, now, peak_memory_mb
from aezsl.selection import class_folds, cross_validate, grid_points, most_cautious
from aezsl.serving.recipe import KEPT_COLUMNS, Recipe

log = logging.getLogger(__name__)


def assemble_problem(
    features: AnyVectors,
    semantics: AnyVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: dict[str, str],
    attribute_names: list[str],
    normalise: dict[str, list[str]],
    extraction: dict[str, Any],
    embedding: dict[str, Any],
    store: MappedArrays | None,
    setting: str,
) -> tuple[Problem, dict[str, Any], Recipe]:
    """The validated problem, what a result on it depends on, and how to bring new data to the same form."""
    without = classes_without_vector(semantics)
    classes, split = (table[~table["class_name"].isin(without)] for table in (classes, split))
    problem = build_problem(features, semantics, classes, split, normalise, setting, list(unreadable), store)
    origin = {"features_fingerprint": features.fingerprint, "semantics_fingerprint": semantics.fingerprint}
    summary = {**problem.summary(), **origin, "n_classes_without_vector": len(without)}
    log.info("problem: %s", ", ".join(f"{key}={value}" for key, value in summary.items()))
    if not len(problem.X_test):
        log.warning(
            "there are no images of unseen classes: models are trained and saved, nothing is predicted or measured. "
            "Name images later by --pipeline=predict, or add them to the data"
        )
    recipe = Recipe(
        backbone={
            "name": extraction["backbone"],
            "weights": extraction["weights"],
            "layer": extraction["layer"],
            "fingerprint": features.fingerprint,
        },
        features=problem.feature_normaliser,
        semantics=problem.semantic_normaliser,
        sources=resolve_sources(classes, embedding["sources"]),
        attribute_names=attribute_names,
        classes=classes[[column for column in KEPT_COLUMNS if column in classes]],
        class_vectors=semantics.take(semantics.rows(classes["class_name"].tolist())),
        example=features.take(np.arange(2)),
    )
    return problem, summary, recipe


def classes_without_vector(semantics: AnyVectors) -> set[str]:
    """Classes that the semantic embedding was told to drop, having nothing to describe them."""
    return set(semantics.config.get("without_vector", []))


def select_parameters(
    problem: Problem, method: dict[str, Any], selection: dict[str, Any], former: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Scores of every point of the grid on validation classes, the chosen one first, and the parameters to use.

    ``former`` is the table of an earlier run: it is taken over where data, settings and code are still the same.
    """
    points = grid_points(method["grid"])
    key = selection_key(problem, method, selection, name)
    if "key" in former and set(former["key"]) == {key}:
        table = former
        log.info("%s: nothing has changed since parameters were selected; taking them over", name)
    elif len(points) == 1:  # nothing to choose, and the method may be slow to fit
        table = pd.DataFrame({"point": [0], "mean": [float("nan")], "key": [key]})
    else:
        folds = class_folds(len(problem.S_seen), len(problem.S_unseen), **selection)
        estimator = make_method(name, **method["init"])
        table = cross_validate(estimator, problem.X_train, problem.y_train, problem.S_seen, folds, method["grid"])
        table.insert(0, "point", range(len(table)))
        table = table.sort_values("mean", ascending=False, kind="stable").assign(key=key)
        cautious = method_class(name).cautious_by
        if cautious_by := {parameter: sign for parameter, sign in cautious.items() if parameter in method["grid"]}:
            table = most_cautious(table, cautious_by, sum(int(np.isin(problem.y_train, fold).sum()) for fold in folds))
    chosen = {**method["init"], **points[int(table["point"].iloc[0])]}
    log.info("%s: chose %s (validation accuracy %.4f)", name, chosen, table["mean"].iloc[0])
    return table, chosen


def selection_key(problem: Problem, method: dict[str, Any], selection: dict[str, Any], name: str) -> str:
    """Changes with anything that the scores of a selection depend on: data, settings, and the code itself."""
    digest = hashlib.sha256(json.dumps([problem.summary(), name, method, selection], sort_keys=True).encode())
    for file in code_of(name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def code_of(name: str) -> list[Path]:
    """The files that a method's scores on validation classes depend on: selection, the method and what they import."""
    waiting = {"aezsl.selection", *(method_class(part).__module__ for part in (name, REFINES.get(name)) if part)}
    found: dict[str, Path] = {}
    while waiting:
        module = waiting.pop()
        found[module] = Path(str(import_module(module).__file__))
        imported = re.findall(r"^\s*from (aezsl[.\w]*) import", found[module].read_text(), re.MULTILINE)
        waiting |= set(imported) - set(found)
    return [found[module] for module in sorted(found)]


def fit_model(problem: Problem, parameters: dict[str, Any], name: str) -> tuple[ZeroShotClassifier, dict[str, Any]]:
    """The method, fitted on all seen classes, and what that cost.

    A linear one also remembers its classifiers of the target classes.
    """
    with Cost("fit") as cost:
        model = make_method(name, **parameters).fit(problem.X_train, problem.y_train, problem.S_seen)
        if isinstance(model, LinearZeroShotClassifier):
            model.classifiers(problem.S_target)
    return model, cost.measured


def keep_recipe(recipe: Recipe) -> Recipe:
    """The recipe beside the model: another run may normalise otherwise, and the model must not notice."""
    return recipe


def fit_network(
    problem: Problem, parameters: dict[str, Any], checkpoint: CheckpointFolder, name: str
) -> tuple[ZeroShotClassifier, dict[str, Any], pd.DataFrame]:
    """As ``fit_model`` for a method trained by epochs: an interrupted run is resumed, and the epochs are a table."""
    model: Any = make_method(name, **parameters)
    with Cost("fit") as cost:
        model.fit_resumable(problem.X_train, problem.y_train, problem.S_seen, checkpoint)
    checkpoint.clear()
    return model, cost.measured, model.history()


def rank_targets(
    model: ZeroShotClassifier, fit_cost: dict[str, Any], problem: Problem
) -> tuple[Ranking, dict[str, Any]]:
    """The best target classes of every test image, and the record of cost and origin."""
    with Cost("rank") as cost:
        if len(problem.X_test):
            ranking = model.rank(problem.X_test, problem.S_target, max(HIT_KS))
        else:
            ranking = Ranking.empty(min(max(HIT_KS), len(problem.S_target)))
    return ranking, make_record(fit_cost | cost.measured, problem)


def make_record(cost: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """What a reader must know to trust a result: its cost, the problem it was made on, the code and the time.

    ``process_peak_mb`` is of the whole process so far, other methods of the same run included.
    """
    return {
        **cost,
        "process_peak_mb": peak_memory_mb(),
        "problem_fingerprint": problem.summary()["problem_fingerprint"],
        "code_commit": git_commit(Path(aezsl.__file__).parent),
        "finished": now(),
    }
