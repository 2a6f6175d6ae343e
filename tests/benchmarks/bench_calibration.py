"""Whether probabilities and expectations hold: ``python -m tests.benchmarks.bench_calibration [expect] [options]``.

Features of EfficientNet-Lite0 in ``$AEZSL_REFERENCE_DATA``: CUB with its attributes, Dogs, Tiny ImageNet and two sets
of photos described by their names; any other set as the ``problem.npz`` that a run has left. Of every set classes are
drawn as seen, with 15 images each, others as unseen. A method is trained as a run does it: parameters, confidence, fit.

Without a word: accuracy, mean probability and expected calibration error on images of the unseen classes, mean over
draws and the largest. ``expect``: how often the told 80% interval holds the accuracy, how wide it is, how often it is
"too few to tell"; and the calibration error.
"""

import argparse
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.io import loadmat

from aezsl.data.problem import Problem
from aezsl.datasets.problem import ProblemDataset
from aezsl.encoders.knowledge import label_vectors
from aezsl.encoders.knowledge.named import wordnet
from aezsl.evaluation.metrics import confidence_metrics, per_class_accuracy
from aezsl.methods import make_method, method_class
from aezsl.selection import (
    CalibrationSettings,
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    select_parameters,
    validated_confidence,
)
from tests.benchmarks.bench_own_knowledge import photo_sets
from tests.benchmarks.photo_tasks import data_folder

#: Images per seen class to learn from, per unseen class to test.
LEARN, TEST = 15, 60

#: Set -> seen and unseen classes, folds of the selection as its environment has them.
STANDARD = {
    "cub": [(150, 50, 3)],
    "dogs": [(84, 28, 1)],
    "tiny_imagenet": [(160, 40, 1)],
    "objects": [(30, 10, 5)],
    "animals": [(16, 6, 5)],
}
OWN_LIKE = {
    "tiny_imagenet": [(6, 3, 5), (10, 5, 5), (20, 5, 5), (50, 10, 5)],
    "cub": [(6, 3, 5), (10, 5, 5), (20, 5, 5), (50, 10, 5)],
    "animals": [(6, 3, 5), (10, 5, 5)],
}
WAYS = {"features": [["sqrt", "centre", "l2"], ["l2"]], "semantics": [["l2"], ["centre", "l2"]]}


def load(name):
    """Features, classes and semantics of a set."""
    if name.endswith(".npz"):
        problem = ProblemDataset(filepath=name).load()
        y = np.concatenate([problem.y_train, problem.y_test + len(problem.S_seen)])
        return np.vstack([problem.X_train, problem.X_test]), y, np.vstack([problem.S_seen, problem.S_unseen])
    if name == "tiny_imagenet":
        with np.load(data_folder() / "tiny_imagenet/efficientnet_lite0.npz") as file:
            wnids, y = np.unique(file["wnid"], return_inverse=True)
            names = [wordnet()[str(wnid)].names[0] for wnid in wnids]
            return file["X"].astype(np.float64), y, label_vectors(names).astype(np.float64)
    ((names, X, y),) = [rest for known, *rest in photo_sets() if known == name]
    if name == "cub":
        return X, y, loadmat(data_folder() / "xlsa17/CUB/att_splits.mat")["original_att"].T
    return X, y, label_vectors(names).astype(np.float64)


def draw(data, n_seen, n_unseen, seed):
    """A problem of some of the classes."""
    X, y, S = data
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))[: n_seen + n_unseen]
    rows = [rng.permutation(np.flatnonzero(y == one)) for one in classes]
    learn, test = [own[:LEARN] for own in rows[:n_seen]], [own[:TEST] for own in rows[n_seen:]]
    labels = [np.repeat(range(len(part)), list(map(len, part))) for part in (learn, test)]
    return Problem(
        "zsl", X[np.concatenate(learn)], labels[0], S[classes[:n_seen]], [f"seen {i}" for i in range(n_seen)],
        X[np.concatenate(test)], labels[1], S[classes[n_seen:]], [f"unseen {i}" for i in range(n_unseen)],
        [str(i) for i in range(len(labels[1]))], ways=WAYS,
    )  # fmt: skip


def measure(problem, name, n_folds):
    """Metrics on the unseen classes, and whether what was told of them holds."""
    selection = SelectionSettings(n_folds=n_folds)
    with TemporaryDirectory() as folder:
        scores, kept = (SelectionStore(Path(folder) / file) for file in ("selection.csv", "confidence.csv"))
        chosen, way = select_parameters(name, problem, {}, method_class(name).grid, selection, scores)
        # No image is left to learn how seen and unseen classes compete, which plays no part here.
        settings = selection, ConfidenceSettings(), CalibrationSettings(seen_test_fraction=1e-9), kept, scores
        confidence = validated_confidence(name, problem, way, chosen, *settings)
    own = problem.normalised(way)
    model = make_method(name, **chosen).fit(*own.seen_data)
    ranking = model.adapt(own.S_target, own.X_test, own.given_target).rank(own.X_test, 20)
    accuracy = per_class_accuracy(own.y_test, ranking.classes[:, 0])
    told = confidence.expectation.among_classes(len(own.S_unseen))
    return {
        "accuracy": accuracy,
        **confidence_metrics(own.y_test, ranking, confidence.temperature),
        "expected": told.accuracy,
        "held": float(told.low <= accuracy <= told.high),
        "width": told.high - told.low,
        "too few": float(not told.tells),
    }


def mean_line(found):
    """One line of a table, of all draws."""
    values = {key: np.array([one[key] for one in found]) for key in found[0]}
    gap = values["mean_probability"] - values["accuracy"]
    return {
        "accuracy": values["accuracy"].mean(),
        "probability": values["mean_probability"].mean(),
        "gap": np.abs(gap).mean(),
        "ECE": values["ece"].mean(),
        "largest": values["ece"].max(),
        "expected": values["expected"].mean(),
        "held": values["held"].mean(),
        "width": values["width"].mean(),
        "too few": values["too few"].mean(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["expect"])
    parser.add_argument("--sets", nargs="+", help="some of the sets, or files problem.npz")
    parser.add_argument("--sizes", nargs="+", type=int, help="seen classes: those of this number only")
    parser.add_argument("--methods", nargs="+", default=["eszsl"])
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    plan = OWN_LIKE if options.what else STANDARD
    heads = ("accuracy", "probability", "gap", "ECE", "largest", "expected", "held", "width", "too few")
    print(f"{'':44}" + "".join(f"{head:>12}" for head in heads))
    for name in options.sets or plan:
        data = load(name)
        n_classes = len(np.unique(data[1]))
        for n_seen, n_unseen, n_folds in plan.get(name, [(4 * n_classes // 5, n_classes - 4 * n_classes // 5, 1)]):
            if options.sizes and n_seen not in options.sizes:
                continue
            for method in options.methods:
                found = [measure(draw(data, n_seen, n_unseen, seed), method, n_folds) for seed in range(options.draws)]
                label = f"{Path(name).parent.name or name}, {n_seen} seen, {n_unseen} unseen, {method}"
                print(f"{label:44}" + "".join(f"{value:12.3f}" for value in mean_line(found).values()), flush=True)


if __name__ == "__main__":
    main()
