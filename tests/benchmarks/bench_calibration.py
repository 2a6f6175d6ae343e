"""Whether probabilities and expectations hold: ``python -m tests.benchmarks.bench_calibration [expect | cost] [options]``.

Features of EfficientNet-Lite0 in ``$AEZSL_REFERENCE_DATA``: CUB with its attributes, Dogs, Tiny ImageNet and two sets
of photos described by their names; any other set as the ``problem.npz`` that a run has left. Of every set classes are
drawn as seen, with 15 images each, others as unseen. A method is trained as a run does it: parameters, confidence, fit.

Without a word: accuracy, mean probability and expected calibration error on images of the unseen classes, mean over
draws and the largest; the gap between accuracy and mean probability, and the one that is left by chance where both
agree in the mean of all draws, because classes differ (see ``evaluation.expectation``). ``expect``: how often the told
80% interval holds the accuracy, how wide it is, how often it is "too few to tell"; and the calibration error.

``cost``: processor seconds of whole runs, ``kedro run`` with what ``--run`` says, with and without calibration, in a
copy of the project. Features are there already; nothing is imported any more. With ``--sets`` it is the seconds of
selection, of calibration and of fitting and naming on a problem that a run has left, without the rest of a run.
"""  # noqa: E501

import argparse
import logging
import shutil
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.io import loadmat

from aezsl.data.problem import Problem
from aezsl.datasets.models import ProblemDataset
from aezsl.encoders.knowledge import label_vectors
from aezsl.encoders.knowledge.named import wordnet
from aezsl.evaluation.metrics import confidence_metrics, per_class_accuracy
from aezsl.methods import make_method, method_class
from aezsl.methods.core.seen import SeenData
from aezsl.selection import (
    CalibrationSettings,
    ConfidenceSettings,
    SelectionSettings,
    SelectionStore,
    learnt_spread,
    select_parameters,
    validated_confidence,
)
from tests.benchmarks.bench_own_knowledge import photo_sets
from tests.benchmarks.photo_tasks import data_folder
from tests.helpers.projects import Commands, Project

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
HEADS = ("accuracy", "probability", "gap", "by chance", "ECE", "largest", "expected", "held", "width", "too few")
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
        file = loadmat(data_folder() / "xlsa17/CUB/att_splits.mat")  # in an order of classes of its own
        order = np.argsort([str(class_name[0]) for class_name in file["allclasses_names"].ravel()])
        return X, y, file["original_att"].T[order]
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
        settings = selection, ConfidenceSettings(), CalibrationSettings(), kept, scores
        confidence = validated_confidence(name, problem, way, chosen, *settings)
    own = problem.normalised(way)
    model = make_method(name, **chosen).fit(*own.seen_data)
    confidence = confidence.in_scores(learnt_spread(model, SeenData(*own.seen_data[:3], given=own.given_seen)))
    ranking = model.adapt(own.S_target, own.X_test, own.given_target).rank(own.X_test, 20)
    accuracy = per_class_accuracy(own.y_test, ranking.classes[:, 0])
    known, n = confidence.expectation, len(own.S_unseen)
    told = known.among_classes(n)
    return {
        "accuracy": accuracy,
        **confidence_metrics(own.y_test, ranking, confidence.temperature),
        "expected": told.accuracy,
        "held": float(told.low <= accuracy <= told.high),
        "width": told.high - told.low,
        "too few": float(not told.tells),
        "by chance": np.sqrt(2 / np.pi) * known.deviation * np.sqrt(1 / known.n_classes + 1 / n),
    }


def mean_line(found):
    """One line of a table, of all draws."""
    values = {key: np.array([one[key] for one in found]) for key in found[0]}
    means = {key: value.mean() for key, value in values.items()}
    return {
        "accuracy": means["accuracy"],
        "probability": means["mean_probability"],
        "gap": np.abs(values["mean_probability"] - values["accuracy"]).mean(),
        "by chance": means["by chance"],
        "ECE": means["ece"],
        "largest": values["ece"].max(),
        **{key: means[key] for key in ("expected", "held", "width", "too few")},
    }


def cost(methods, given):
    """Processor seconds of runs, and what calibration adds to them."""
    with TemporaryDirectory() as folder:
        project = Project.copy(Path(folder), Commands())
        params = next((one.removeprefix("--params=") for one in given if one.startswith("--params=")), "")
        others = [one for one in given if not one.startswith("--params=")]

        def seconds(method, more="", *options):
            changed = ",".join(filter(None, [params, more]))
            arguments = ["run", f"--pipeline={method}", *others, *options, *([f"--params={changed}"] * bool(changed))]
            shutil.rmtree(project.folder / "data/06_models", ignore_errors=True)
            finished = project.commands.fork(project.folder, arguments)
            assert finished.returncode == 0, finished.stderr
            return finished.seconds

        seconds("eszsl", "", "--to-nodes=assemble_problem")
        print(f"{'':30}{'with':>10}{'without':>10}{'share':>10}")
        for method in methods:
            both, without = seconds(method), seconds(method, "confidence.calibrate=false")
            print(f"{method:30}{both:10.1f}{without:10.1f}{both / without - 1:10.1%}", flush=True)
        project.commands.close()


def cost_of_parts(path, name):
    """Processor seconds on a problem."""
    problem, seconds, selection = ProblemDataset(filepath=path).load(), [], SelectionSettings()

    def timed(function, *given):
        start = time.process_time()
        found = function(*given)
        seconds.append(time.process_time() - start)
        return found

    with TemporaryDirectory() as folder:
        scores, kept = (SelectionStore(Path(folder) / file) for file in ("selection.csv", "confidence.csv"))
        grid = method_class(name).grid
        chosen, way = timed(select_parameters, name, problem, {}, grid, selection, scores)
        settings = selection, ConfidenceSettings(), CalibrationSettings(), kept, scores
        timed(validated_confidence, name, problem, way, chosen, *settings)

    def answer():
        own = problem.normalised(way)
        model = make_method(name, **chosen).fit(*own.seen_data)
        return model.adapt(own.S_target, own.X_test, own.given_target).rank(own.X_test, 20)

    timed(answer)
    share = seconds[1] / (seconds[0] + seconds[2])
    print(f"{Path(path).parent.name + ', ' + name:30}" + "".join(f"{one:12.1f}" for one in seconds) + f"{share:12.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["expect", "cost"])
    parser.add_argument("--sets", nargs="+", help="some of the sets, or files problem.npz")
    parser.add_argument("--sizes", nargs="+", type=int, help="seen classes: those of this number only")
    parser.add_argument("--methods", nargs="+", default=["eszsl"])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--run", default="", help="further options of the runs, such as '--env=cub --params=...'")
    options = parser.parse_args()
    if options.what == "cost" and not options.sets:
        return cost(options.methods, options.run.split())
    logging.disable(logging.CRITICAL)
    if options.what == "cost":
        print(f"{'':30}{'selection':>12}{'calibration':>12}{'answer':>12}{'share':>12}")
        for name, method in product(options.sets, options.methods):
            cost_of_parts(name, method)
        return None
    plan = OWN_LIKE if options.what else STANDARD
    print(f"{'':44}" + "".join(f"{head:>12}" for head in HEADS))
    for name in options.sets or plan:
        data = load(name)
        n_classes = len(np.unique(data[1]))
        for n_seen, n_unseen, n_folds in plan.get(name, [(4 * n_classes // 5, n_classes - 4 * n_classes // 5, 1)]):
            if options.sizes and n_seen not in options.sizes:
                continue
            for method in options.methods:
                found = [measure(draw(data, n_seen, n_unseen, seed), method, n_folds) for seed in range(options.draws)]
                label = f"{Path(name).parent.name or name}, {n_seen} seen, {n_unseen} unseen, {method}"
                line = mean_line(found)
                print(f"{label:44}" + "".join(f"{line[head]:12.3f}" for head in HEADS), flush=True)
    return None


if __name__ == "__main__":
    main()
