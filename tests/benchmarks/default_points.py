"""Which point of a method's grid is best in the mean of several data sets' validation classes: its class's defaults.

    python -m tests.benchmarks.default_points --methods eszsl aezsl -- data/05_model_input/*/problem.npz

Every problem is one that ``kedro run --pipeline=eszsl --to-nodes=assemble_problem`` has left, with and without
``--env``. Each is tried in two normalisations. The table has the point, its accuracy, and what a selection on each
problem alone would reach. A method with a base is tried around the base at its own defaults. With ``--images 20`` a
class has that many images at most, for methods whose cost grows fast with them.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.data.problem import Problem
from aezsl.datasets.models import ProblemDataset
from aezsl.machine.workers import Once
from aezsl.methods import METHODS, make_method, method_class
from aezsl.selection import SelectionSettings, cross_validate, problem_folds

WAYS = (
    {"features": ["l2"], "semantics": ["l2"]},
    {"features": ["sqrt", "centre", "l2"], "semantics": ["l2"]},
    {"features": ["sqrt", "centre", "l2"], "semantics": ["centre", "l2"]},
)


def thinned(problem: Problem, most: int | None) -> Problem:
    """The problem with the first images of every seen class."""
    if most is None:
        return problem
    place = pd.Series(problem.y_train).groupby(problem.y_train).cumcount().to_numpy()
    return replace(problem, X_train=problem.X_train[place < most], y_train=problem.y_train[place < most], shared=Once())


def validation_scores(name: str, path: Path, n_folds: int, images: int | None = None) -> pd.Series:
    """Mean accuracy on validation classes of every point of the grid, over folds and normalisations."""
    problem = thinned(ProblemDataset(filepath=str(path)).load(), images)
    ways = [problem.pending(way) for way in WAYS]
    folds = problem_folds(problem, SelectionSettings(n_folds=n_folds))
    grid = method_class(name).grid
    data = problem.X_train, problem.y_train, problem.S_seen
    table = cross_validate(make_method(name), *data, folds, grid, ways, problem.shared)
    points = table[list(grid)].map(str).agg(", ".join, axis=1)
    return table.groupby(points, sort=False)["mean"].mean()


def best_in_the_mean(name: str, paths: list[Path], n_folds: int, images: int | None = None) -> pd.DataFrame:
    """One row per problem: the point that is best in the mean of all, and the best of this problem alone."""
    scores = pd.DataFrame({path.parent.name: validation_scores(name, path, n_folds, images) for path in paths})
    point = scores.mean(axis=1).idxmax()
    own = ", ".join(str(make_method(name).get_params()[key]) for key in method_class(name).grid)
    now = scores.loc[own] if own in scores.index else np.nan
    rows = {"default": now, "best in the mean": scores.loc[point], "selected": scores.max()}
    table = (100 * pd.DataFrame(rows)).round(2)
    table.insert(0, "point", f"{', '.join(method_class(name).grid)} = {point}")
    return table.assign(method=name, now=own).reset_index(names="problem")


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+", type=Path)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--images", type=int, help="of a class at most; all where not given")
    options = parser.parse_args(arguments)
    for name in options.methods:
        if method_class(name).grid:
            print(
                best_in_the_mean(name, options.problems, options.folds, options.images).to_string(index=False),
                flush=True,
            )


if __name__ == "__main__":
    main()
