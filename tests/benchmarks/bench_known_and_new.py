"""Known and new classes in one list: ``python -m tests.benchmarks.bench_known_and_new [--sets ...] [--methods ...]``.

Own sets of 20 seen classes with 15 images each and 5 new ones, drawn from the sets of ``bench_calibration``; 15 further
images of every class are named among all 25. Rows: scores as they are; less the constant of calibrated stacking; and
what could be done beside a constant. Each of these has a strength that is chosen on validation classes by AUSUC; with a
strength of nothing it is the constant alone.

* class means: to the score of a seen class is added how near the image is to the mean of its images;
* gate: to the scores of all seen classes is added how near the image is to the nearest of these means;
* temperature: scores of seen classes are multiplied.

Columns: AUSUC on validation classes and on test images, accuracy per class of seen and of new classes at the constant
that is chosen on validation classes, and their harmonic mean; means over draws in percent, and the standard error of
the test AUSUC's difference to the constant's.
"""

import argparse
import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import ausuc, choose_constant, seen_unseen_curve
from aezsl.evaluation.ranking import top_k
from aezsl.methods import make_method, method_class
from aezsl.methods.core.seen import SeenData
from aezsl.selection import SelectionSettings, SelectionStore, problem_folds, select_parameters
from aezsl.selection.calibration import all_targets, generalized_fold
from aezsl.selection.validation import Examined
from tests.benchmarks.bench_calibration import WAYS, load

SEEN, NEW, IMAGES = 20, 5, 15
SETS = ("dogs", "cub", "tiny_imagenet", "objects", "animals")
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0)


class Named(NamedTuple):
    """Images of known and of new classes, and what is known of them."""

    true: np.ndarray
    seen: np.ndarray  # scores (n, n_seen)
    new: np.ndarray
    near: np.ndarray  # (n, n_seen) cosine with the mean of every seen class, in deviations of the seen scores


def draw(data, seed):
    """A problem in which images of seen classes are left, too."""
    X, y, S = data
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))[: SEEN + NEW]
    n_seen = len(classes) - NEW
    rows = [rng.permutation(np.flatnonzero(y == one)) for one in classes]
    learn = [own[:IMAGES] for own in rows[:n_seen]]
    test = [own[IMAGES : 2 * IMAGES] if i < n_seen else own[:IMAGES] for i, own in enumerate(rows)]
    labels = [np.repeat(range(len(part)), list(map(len, part))) for part in (learn, test)]
    return Problem(
        "gzsl", X[np.concatenate(learn)], labels[0], S[classes[:n_seen]], [f"seen {i}" for i in range(n_seen)],
        X[np.concatenate(test)], labels[1], S[classes[n_seen:]], [f"new {i}" for i in range(NEW)],
        [str(i) for i in range(len(labels[1]))], ways=WAYS,
    )  # fmt: skip


def named(model, examined, true):
    """The scores of a fold, or of the test images."""
    scores = model.adapt_to(all_targets(examined, False)).scores(examined.X)
    n_seen, y = len(examined.seen.S), examined.seen.y
    means = np.stack([examined.seen.X[y == c].mean(axis=0) for c in range(n_seen)])
    near = unit_rows(examined.X) @ unit_rows(means).T
    return Named(true, scores[:, :n_seen], scores[:, n_seen:], near * scores[:, :n_seen].std() / near.std())


def class_means(one, strength):
    return one.seen + strength * one.near


def gate(one, strength):
    return one.seen + strength * one.near.max(axis=1, keepdims=True)


def temperature(one, strength):
    return one.seen * (1 + strength)


WAYS_BESIDE = {"class means": class_means, "gate": gate, "temperature": temperature}


def curve(one, seen):
    return seen_unseen_curve(one.true, top_k(seen, 1), top_k(one.new, 1), seen.shape[1])


def measure(problem, name, n_folds=5):
    """Row -> its figures."""
    settings = SelectionSettings(n_folds=n_folds)
    with TemporaryDirectory() as folder:
        store = SelectionStore(Path(folder) / "selection.csv")
        chosen, way = select_parameters(name, problem, {}, method_class(name).grid, settings, store)
    folds = []
    for held_out in problem_folds(problem, settings):
        true, fold = generalized_fold(problem.seen_data, held_out, 0.2, 0, problem.shared)
        (examined,) = fold.examined([problem.pending(way)])
        folds.append(named(make_method(name, **chosen).fit_seen(examined.seen), examined, true))
    own = problem.normalised(way)
    model = make_method(name, **chosen)
    seen = SeenData(*own.seen_data[:3], given=own.given_seen)
    given = None if own.given_target is None else own.given_target[len(own.S_seen) :]
    examined = Examined(seen, own.X_test, own.S_unseen, given)
    test = named(model.fit_seen(examined.seen), examined, own.y_test)

    def figures(change, constant=None):
        curves = [curve(one, change(one)) for one in folds]
        point = curve(test, change(test)).at(choose_constant(*curves) if constant is None else constant)
        areas = np.mean([ausuc(one) for one in curves]), ausuc(curve(test, change(test)))
        return 100 * np.array([*areas, point.seen, point.unseen, point.harmonic])

    found = {"as they are": figures(lambda one: one.seen, 0.0), "constant": figures(lambda one: one.seen)}
    for label, change in WAYS_BESIDE.items():
        tried = [figures(lambda one: change(one, s)) for s in STRENGTHS]  # noqa: B023
        found[label] = tried[int(np.argmax([row[0] for row in tried]))]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=["eszsl", "aezsl"])
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    heads = ("validation", "AUSUC", "seen", "new", "harmonic", "difference", "error")
    print(f"{'':36}" + "".join(f"{head:>12}" for head in heads))
    for name in options.sets:
        data = load(name)
        for method in options.methods:
            rows = [measure(draw(data, seed), method) for seed in range(options.draws)]
            for label in rows[0]:
                values = np.array([row[label] for row in rows])
                gain = values[:, 1] - np.array([row["constant"][1] for row in rows])
                line = (*values.mean(axis=0), gain.mean(), gain.std() / np.sqrt(len(gain)))
                print(f"{f'{name}, {method}, {label}':36}" + "".join(f"{one:12.1f}" for one in line), flush=True)


if __name__ == "__main__":
    main()
