"""Choose parameters on validation classes, fit on all seen classes, rank the test images."""

import hashlib
import json
import logging
import time
from pathlib import Path
from typing import Any

import pandas as pd

import aezsl
from aezsl.evaluation.metrics import HIT_KS
from aezsl.evaluation.ranking import Ranking
from aezsl.methods import ZeroShotClassifier, make_method
from aezsl.problem import Problem, build_problem
from aezsl.provenance import git_commit, now, peak_memory_mb
from aezsl.selection import class_folds, cross_validate, grid_points
from aezsl.vectors import Vectors

log = logging.getLogger(__name__)


def assemble_problem(
    features: Vectors,
    semantics: Vectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    unreadable: dict[str, str],
    normalise: dict[str, list[str]],
    setting: str,
) -> tuple[Problem, dict[str, Any]]:
    """The validated problem, and what a result on it depends on."""
    problem = build_problem(features, semantics, classes, split, normalise, setting, list(unreadable))
    origin = {"features_fingerprint": features.fingerprint, "semantics_fingerprint": semantics.fingerprint}
    summary = {**problem.summary(), **origin}
    log.info("problem: %s", ", ".join(f"{key}={value}" for key, value in summary.items()))
    return problem, summary


def select_parameters(
    problem: Problem, method: dict[str, Any], selection: dict[str, Any], former: pd.DataFrame, name: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Scores of every point of the grid on validation classes, best first, and the parameters to use.

    ``former`` is the table of an earlier run: it is taken over where data, settings and code are still the same.
    """
    points = grid_points(method["grid"])
    key = selection_key(problem, method, selection, name)
    if "key" in former and set(former["key"]) == {key}:
        table = former
        log.info("%s: nothing has changed since parameters were selected; taking them over", name)
    else:
        folds = class_folds(len(problem.S_seen), len(problem.S_unseen), **selection)
        estimator = make_method(name, **method["init"])
        table = cross_validate(estimator, problem.X_train, problem.y_train, problem.S_seen, folds, method["grid"])
        table.insert(0, "point", range(len(table)))
        table = table.sort_values("mean", ascending=False, kind="stable").assign(key=key)
    chosen = {**method["init"], **points[int(table["point"].iloc[0])]}
    log.info("%s: chose %s (validation accuracy %.4f)", name, chosen, table["mean"].iloc[0])
    return table, chosen


def selection_key(problem: Problem, method: dict[str, Any], selection: dict[str, Any], name: str) -> str:
    """Changes with anything that the scores of a selection depend on: data, settings, and the code itself."""
    digest = hashlib.sha256(json.dumps([problem.summary(), name, method, selection], sort_keys=True).encode())
    package = Path(aezsl.__file__).parent
    for file in sorted([*package.glob("methods/*.py"), *package.glob("evaluation/*.py"), package / "selection.py"]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def fit_model(problem: Problem, parameters: dict[str, Any], name: str) -> tuple[ZeroShotClassifier, dict[str, Any]]:
    """The method, fitted on all seen classes, and how long that took."""
    start = time.perf_counter()
    model = make_method(name, **parameters).fit(problem.X_train, problem.y_train, problem.S_seen)
    return model, {"fit_seconds": time.perf_counter() - start}


def rank_targets(
    model: ZeroShotClassifier, fit_cost: dict[str, Any], problem: Problem
) -> tuple[Ranking, dict[str, Any]]:
    """The best target classes of every test image, and the record of cost and origin."""
    start = time.perf_counter()
    ranking = model.rank(problem.X_test, problem.S_target, max(HIT_KS))
    return ranking, make_record(fit_cost, time.perf_counter() - start, problem)


def make_record(fit_cost: dict[str, Any], rank_seconds: float, problem: Problem) -> dict[str, Any]:
    """What a reader must know to trust a result: its cost, the problem it was made on, the code and the time.

    The peak of memory is that of the whole process so far, other methods of the same run included.
    """
    return {
        **fit_cost,
        "rank_seconds": rank_seconds,
        "process_peak_mb": peak_memory_mb(),
        "problem_fingerprint": problem.summary()["problem_fingerprint"],
        "code_commit": git_commit(Path(aezsl.__file__).parent),
        "finished": now(),
    }
