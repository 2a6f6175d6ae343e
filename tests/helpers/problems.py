"""A small problem with a projection shift, and pipelines run on it in memory."""

import dataclasses
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd
from kedro.io import DataCatalog, MemoryDataset
from kedro.runner import SequentialRunner

from aezsl.config.schema import shared_sections
from aezsl.data.benchmark import Candidates
from aezsl.data.draws import held_out_mask
from aezsl.data.problem import Problem
from aezsl.methods import method_class
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.pipelines.sensitivity.nodes import SensitivitySettings
from aezsl.reporting.gallery import GallerySettings
from aezsl.selection import SelectionStore, SelectionStores
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic

#: Ways to normalise of which a method chooses.
FEATURES = [["standardise"], ["l2", "centre"]]
SEMANTICS = [[], ["standardise"]]


class Kept(MemoryDataset):
    """Stays after its last reader, so that tests can look at it."""

    def _release(self):
        pass


def make_problem(setting, data=None):
    data = data or make_synthetic(n_seen=16, n_unseen=5, per_class=10)
    held_out = held_out_mask(data.y, 0.2, 0) if setting == "gzsl" else np.zeros(len(data.y), dtype=bool)
    X_test = np.vstack([data.X[held_out], data.X_new])
    offset = len(data.S) if setting == "gzsl" else 0
    return Problem(
        setting=setting,
        X_train=data.X[~held_out],
        y_train=data.y[~held_out],
        S_seen=data.S,
        seen_names=[f"seen {i}" for i in range(len(data.S))],
        X_test=X_test,
        y_test=np.concatenate([data.y[held_out], data.y_new + offset]),
        S_unseen=data.S_new,
        unseen_names=[f"unseen {i}" for i in range(len(data.S_new))],
        test_ids=[str(i) for i in range(len(X_test))],
    )


def dimmed(X):
    """Images of very different lengths, which say nothing of their classes: unit length is better than none."""
    return X * np.exp(2 * np.random.default_rng(0).normal(size=(len(X), 1)))


def make_raw(features=FEATURES, semantics=SEMANTICS, setting="zsl"):
    problem = make_problem(setting, make_synthetic(n_seen=16, n_unseen=5, per_class=10, noise=1.0))
    ways = {"features": features, "semantics": semantics}
    return dataclasses.replace(problem, X_train=dimmed(problem.X_train), X_test=dimmed(problem.X_test), ways=ways)


def run(pipeline, problem, methods, prefix="", n_values=1, runner=None, stores=None, fixed=None, recipe=None):
    """Run with one point per grid, unless more values per parameter are wanted: grids are tested elsewhere.

    fixed : parameters that are given to every method.
    """
    shared = {name: section() for name, section in shared_sections().items()}
    shared["gallery"] = GallerySettings(rows=1, columns=2)
    shared["sensitivity"] = SensitivitySettings(k=[80, 90, 100], lambda3=[0.1, 1.0, 10.0])
    inputs = {f"params:{name}": section for name, section in shared.items()}
    for name in methods:
        grid = {key: values[len(values) // 2 :][:n_values] for key, values in method_class(name).grid.items()}
        method = method_class(name).settings()(**(fixed or {}), grid=grid)
        place = Path(mkdtemp())
        inputs |= {
            f"params:{name}": method,
            f"{prefix}{name}.selection": (stores or {}).get(name, SelectionStore(place / "selection.csv")),
            f"{prefix}{name}.confidence_scores": SelectionStore(place / "confidence.csv"),
            f"{prefix}{name}.checkpoint": CheckpointFolder(place),
        }
    inputs |= {
        f"{prefix}problem": problem,
        "candidates": Candidates(),
        f"{prefix}problem_recipe": recipe or make_recipe()[0],
        "images": pd.DataFrame({"image_id": problem.test_ids, "path": "nowhere.png"}),
        "selections": SelectionStores(mkdtemp(), "{}/selection.csv"),
    }
    used = pipeline.inputs()
    stored = (".selection", ".confidence_scores")
    for name in (name for name in used if name.endswith(stored) and name not in inputs):  # of variants of methods
        inputs[name] = SelectionStore(Path(mkdtemp()) / "scores.csv")
    catalog = DataCatalog({key: MemoryDataset(value) for key, value in inputs.items() if key in used})
    for name in pipeline.all_outputs():
        catalog[name] = Kept()
    (runner or SequentialRunner()).run(pipeline, catalog)
    return catalog
