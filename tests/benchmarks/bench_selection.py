"""What a choice among normalisations costs: ``python -m tests.benchmarks.bench_selection``.

Selection on one fold at CUB's size, methods one after the other so that they share the decompositions of the fold, with
one normalisation and with the four of conf/base. Processor seconds on one thread.

    python -m tests.benchmarks.bench_selection --problems data/05_model_input/*/problem.npz

Instead: the race beside the exhaustive search on problems that ``kedro run --to-nodes=assemble_problem`` has left, over
five draws of validation classes. What each chooses, its validation accuracy by the exhaustive search, the standard
error, the accuracy on the unseen classes, processor time, and memory as a multiple of the training features.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from aezsl.data.normalise import PARTS
from aezsl.datasets.models import ProblemDataset
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.machine.workers import Once
from aezsl.methods import make_method, method_class
from aezsl.selection import SelectionSettings, SelectionStore, class_folds, cross_validate, problem_folds
from aezsl.selection.search import select_in_every_way
from tests.benchmarks.measuring import make_problem, measured

#: The alternatives of conf/base: all combinations of these.
FEATURES = (("sqrt", "centre", "l2"), ("l2",))
SEMANTICS = (("l2",), ("centre", "l2"))
WAYS = [{"features": features, "semantics": semantics} for features in FEATURES for semantics in SEMANTICS]


def costs(names, seen, folds, ways):
    """Processor seconds of every method's selection."""
    shared, seconds = Once(), []
    for name in names:
        start = time.process_time()
        cross_validate(make_method(name), *seen, folds, method_class(name).grid, ways, shared)
        seconds.append(time.process_time() - start)
    return seconds


def run(names, seen, n_unseen):
    """Print a line per method, and one of them all."""
    folds = class_folds(len(seen[2]), n_unseen, n_folds=1)
    one, four = (costs(names, seen, folds, ways) for ways in (WAYS[:1], WAYS))
    for name, alone, choice in [*zip(names, one, four, strict=True), ("all of them", sum(one), sum(four))]:
        print(f"  {name:22s} one way {alone:7.1f} s   four ways {choice:7.1f} s   {choice / alone:4.1f}x", flush=True)


def searched(name, path, settings, folder):
    """The table of a selection, what it chose, processor seconds, and its arrays at their peak, as a multiple of the
    training features; nothing is taken over from another search."""
    problem = ProblemDataset(filepath=str(path)).load()
    store = SelectionStore(folder / f"{name}.csv")
    store.forget()
    grid = method_class(name).grid
    found, seconds, peak = measured(lambda: select_in_every_way(name, problem, {}, grid, settings, store))
    best = found[0]
    key = {**best.parameters, **{part: "+".join(best.normalisation[part]) or "none" for part in PARTS}}
    return pd.read_csv(store.path), best, key, seconds, peak / (problem.X_train.nbytes / 2**20)


def side_by_side(name, path, n_splits, n_folds, folder):
    """Print both searches over some draws of validation classes, and the ratio of what they cost."""
    problem, spent, gaps = ProblemDataset(filepath=str(path)).load(), [], []
    for seed in range(n_splits):
        settings = SelectionSettings(seed=seed, n_folds=n_folds)
        full, race = (
            searched(name, path, settings.model_copy(update={"search": search}), folder)
            for search in ("exhaustive", "race")
        )
        n = sum(int(np.isin(problem.y_train, fold).sum()) for fold in problem_folds(problem, settings))
        found = full[0].set_index("point")["mean"]
        own, raced = (float(found[table["point"].iloc[0]]) for table, *_ in (full, race))
        error = np.sqrt(own * (1 - own) / n)
        tested = [tested_on(name, problem, found[1]) for found in (full, race)]
        spent.append((full[3], race[3]))
        gaps.append((own - raced) / error)
        print(
            f"  {path.parent.name:12s} {name:10s} draw {seed}: exhaustive {full[2]} {100 * own:.2f} ({full[3]:.1f} s, "
            f"memory {full[4]:.1f} times the features), "
            f"race {race[2]} {100 * raced:.2f} ({race[3]:.1f} s, {race[4]:.1f} times, "
            f"{len(race[0])} of {len(full[0])} points); standard error {100 * error:.2f}; "
            f"unseen {100 * tested[0]:.2f} and {100 * tested[1]:.2f}",
            flush=True,
        )
    ratio = sum(race for _, race in spent) / sum(full for full, _ in spent)
    print(f"  {path.parent.name:12s} {name:10s} {100 * ratio:.0f} % of the time; at most {max(gaps):.2f} errors behind")


def tested_on(name, problem, best):
    """Accuracy on the unseen classes of what was chosen."""
    normalised = problem.normalised(best.normalisation)
    model = make_method(name, **best.parameters).fit(normalised.X_train, normalised.y_train, normalised.S_seen)
    return per_class_accuracy(normalised.y_test, model.predict(normalised.X_test, normalised.S_unseen))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=["eszsl", "aezsl_sim", "aezsl", "aezsl_t", "exem"])
    for option, size in {"n": 8821, "d": 1280, "a": 312, "n_seen": 150, "n_unseen": 50}.items():
        parser.add_argument(f"--{option}", type=int, default=size)
    parser.add_argument("--problems", nargs="+", type=Path, default=[])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--folds", type=int, default=1)
    sizes = vars(parser.parse_args())
    only, problems, n_splits, n_folds = (sizes.pop(name) for name in ("only", "problems", "splits", "folds"))
    with threadpool_limits(1), tempfile.TemporaryDirectory() as place:
        for path in problems:
            for method in only:
                side_by_side(method, path, n_splits, n_folds, Path(place))
        if not problems:
            print("selection on one fold, " + ", ".join(f"{option}={size}" for option, size in sizes.items()))
            run(only, make_problem(m=1, **sizes)[0], sizes["n_unseen"])
