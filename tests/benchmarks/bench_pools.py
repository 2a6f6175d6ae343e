"""What pools as they come gain, over class splits: ``python -m tests.benchmarks.bench_pools <folder> <problem.npz>``.

``smallest`` stands for a small problem. Options: ``--methods aezsl_t+eszsl_t``, ``--splits``, ``--draws`` and those of
``kedro run --pipeline=realistic``; ``--features`` and ``--semantics``: steps, where the problem has alternatives. The
problem file is one that a run left in ``data/05_model_input``, with labelled test images. All its classes are split
again, by seeds 0, 1, 2 ...; of every split it is that pipeline: parameters are chosen on validation classes, and every
cell is kept in the folder, so that an interrupted run goes on where it was. Grids of the linear methods are short.
Gains are of per-class accuracy, in points, and their deviation is over splits.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.data.problem import Problem
from aezsl.datasets.models import ProblemDataset
from aezsl.methods import METHODS, method_class
from aezsl.pipelines.realistic.nodes import RealisticSettings, measure_pools
from aezsl.reporting.pools import cell_of, tabulate_pools
from aezsl.selection import SelectionSettings, SelectionStores
from tests.helpers.problems import make_problem
from tests.synthetic import make_synthetic

#: Of the linear methods; others have their own.
GRIDS = {
    "aezsl": {"lambda1": [0.01, 0.1], "lambda2": [0.1, 1.0], "lambda3": [0.1]},
    "eszsl": {"gamma": [0.1, 1.0, 10.0, 100.0], "lam": [0.01, 0.1, 1.0, 10.0, 100.0]},
}


def split_again(problem, seed, ways=None):
    """The same data with other unseen classes."""
    n_seen, n_unseen = len(problem.S_seen), len(problem.S_unseen)
    X, S = (np.vstack(parts) for parts in ((problem.X_train, problem.X_test), (problem.S_seen, problem.S_unseen)))
    y = np.concatenate([problem.y_train, problem.y_test + n_seen])
    unseen = np.zeros(n_seen + n_unseen, dtype=bool)
    unseen[np.random.default_rng(seed).choice(len(unseen), n_unseen, replace=False)] = True
    place = np.where(unseen, np.cumsum(unseen), np.cumsum(~unseen)) - 1
    names, is_test = np.array(problem.seen_names + problem.unseen_names), unseen[y]
    return Problem(
        setting="zsl",
        X_train=X[~is_test],
        y_train=place[y[~is_test]],
        S_seen=S[~unseen],
        seen_names=names[~unseen].tolist(),
        X_test=X[is_test],
        y_test=place[y[is_test]],
        S_unseen=S[unseen],
        unseen_names=names[unseen].tolist(),
        test_ids=[str(i) for i in np.flatnonzero(is_test)],
        ways=ways or problem.ways,
        given=None if problem.given is None else np.vstack([problem.given[~np.r_[unseen]], problem.given[unseen]]),
    )


def parameters(names):
    """Settings of all methods that take part."""
    parts = {part for name in names for part in (name, METHODS[name].refines) if part}
    return {part: method_class(part).settings()(grid=GRIDS.get(part, method_class(part).grid)) for part in parts}


def measure(problem, folder, seed, settings, ways=None):
    """A row per method, cell and draw of one split."""
    own, place = split_again(problem, seed, ways), Path(folder) / str(seed)
    stores = SelectionStores(place / "models", "{}/selection.csv"), SelectionStores(place / "cells", "{}.csv")
    given = {name: one.model_dump(exclude_unset=True) for name, one in parameters(settings.methods.split("+")).items()}
    return measure_pools(own, settings, SelectionSettings(n_folds=1), given, None, *stores)[0].assign(split=seed)


def over_splits(draws):
    """Mean gains and their deviation over splits, a row per cell and a column per method; then mean and worst cell."""
    tables = [tabulate_pools(own.drop(columns="split"))[0].assign(split=seed) for seed, own in draws.groupby("split")]
    table = pd.concat(tables)
    table = table[table["state"] == "run"]
    table["cell"] = [f"{cell_of(row).row}, {row['size']}" for row in table.to_dict("records")]
    cells = table.groupby(["cell", "method"], sort=False)[["base", "gain"]].agg(["mean", "std"]).fillna(0)
    shown = cells.apply(
        lambda row: f"{row['base', 'mean']:.1f} {row['gain', 'mean']:+.1f} ± {row['gain', 'std']:.1f}", axis=1
    )
    means = cells["gain", "mean"].groupby("method", sort=False).agg(["mean", "min"])
    return shown.reset_index(name="x").pivot_table(
        index="cell", columns="method", values="x", aggfunc="first", sort=False
    ), means


def load(path):
    """The problem of a file, or a small one."""
    if path != "smallest":
        return ProblemDataset(filepath=path).load()
    return make_problem("zsl", make_synthetic(n_seen=12, n_unseen=4, per_class=20))


def main(folder, path, splits, features, semantics, **settings):
    """Print the table after every split."""
    ways = {"features": [features.split("+")], "semantics": [semantics.split("+")]} if features else None
    problem, settings, draws = load(path), RealisticSettings(**settings), []
    for seed in range(splits):
        draws.append(measure(problem, folder, seed, settings, ways))
        shown, means = over_splits(pd.concat(draws))
        print(f"{seed + 1} splits\n{shown.to_string()}\n{means.round(1).to_string()}", flush=True)
    return means


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("path")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--methods", default="aezsl_t")
    parser.add_argument("--classes", default="1-4+5-25+half+all")
    parser.add_argument("--batches", default="64+200+1000+all")
    parser.add_argument("--streams", default="0.1+0.01+in_turn")
    parser.add_argument("--stream-batches", type=int, default=4)
    parser.add_argument("--features", default="")
    parser.add_argument("--semantics", default="")
    main(**vars(parser.parse_args()))
