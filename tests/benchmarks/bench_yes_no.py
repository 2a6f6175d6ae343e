"""Several labels may be true: ``python -m tests.benchmarks.bench_yes_no [tasks]``, or ``... choose [tasks]``.

Pairs of a photo and a label, whose probability of yes is measured: expected calibration error and Brier score, AUROC,
and at one half how many of the true labels are said and how many of those said are true. A photo counts once, whatever
the number of labels. Sets of labels have

* one true label: a photo among the labels of a task of ``photo_tasks``, or among the classes of its data set;
* none: the same without the label of the photo;
* two, in two ways: labels of a task beside names of classes above them (a collie is a dog, too), and two photos side by
  side. The features of two photos side by side are the mean of theirs, since the network takes means over places.

Rows: tasks other than those that the numbers were chosen on, then data sets that played no part in it, named with all
that the model knows. ``choose`` prints the numbers of ``serving.photos.CONFIDENCE``: they suit one, none and two true
labels best, each as often.
"""

import sys

import numpy as np
from sklearn.metrics import roc_auc_score

from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.named import imagenet_classes, upwards, wordnet
from aezsl.evaluation.yes_no import YES, fit_yes_no
from aezsl.methods.heads.methods import AEZSLHeads
from aezsl.serving.photos import CONFIDENCE
from tests.benchmarks.bench_photos import imagenet_sets, photo_sets
from tests.benchmarks.photo_tasks import GROUP, data_folder, draw_tasks, members

KINDS = ("one", "none", "class and group", "side by side")
ABOVE = 3  # names of groups beside the labels of a task


def above(task, rng):
    """Some classes of WordNet above labels of a task, which are no labels themselves."""
    found = {}
    for c in rng.permutation(np.unique(task.classes)):
        nodes = [n for n in upwards(imagenet_classes()[c])[1:] if 2 <= len(members()[n]) <= GROUP]
        nodes = [n for n in nodes if n not in task.nodes and wordnet()[n].names[0] not in task.labels]
        if nodes and len(found) < ABOVE:
            node = nodes[rng.integers(len(nodes))]
            found[wordnet()[node].names[0]] = members()[node]
    return found


def side_by_side(X, truth, rng):
    """Pairs of photos that have no label in common."""
    other = rng.permutation(len(X))
    apart = ~(truth & truth[other]).any(axis=1)
    return ((X + X[other]) / 2)[apart], (truth | truth[other])[apart]


def pairs(model, X, A, truth, asked=None):
    """Score, rival, truth and weight of every pair of a photo and a label; asked : of some only."""
    scores = model.adapt(A).scores(X)
    weights = np.full(scores.shape, 1 / scores.shape[1])
    rivals = np.broadcast_to(model.rivals(X)[:, None], scores.shape)
    asked = np.ones(scores.shape, dtype=bool) if asked is None else asked
    return np.column_stack([part[asked] for part in (scores, rivals, truth, weights)])


def of_photos(model, X, A, y, rng):
    truth = np.eye(len(A), dtype=bool)[y]
    X_two, truth_two = side_by_side(X, truth, rng)
    return {
        "one": pairs(model, X, A, truth),
        "none": pairs(model, X, A, truth, ~truth),
        "side by side": pairs(model, X_two, A, truth_two),
    }


def of_tasks(n_tasks, seed):
    """Kind -> pairs of all tasks."""
    tasks, seen, rng = draw_tasks(n_tasks, seed), load_knowledge(), np.random.default_rng(seed)
    added = [above(task, rng) for task in tasks]
    names = sorted({name for task, more in zip(tasks, added, strict=True) for name in (*task.labels, *more)})
    vectors = dict(zip(names, label_vectors(names).astype(np.float64), strict=True))
    found = {kind: [] for kind in KINDS}
    for task, more in zip(tasks, added, strict=True):
        model, A = AEZSLHeads().fit(seen.subset(task.kept)), np.stack([vectors[label] for label in task.labels])
        for kind, part in of_photos(model, task.X, A, task.y, rng).items():
            found[kind].append(part)
        if more:
            truth = np.column_stack(
                [np.eye(len(A), dtype=bool)[task.y], *(np.isin(task.classes, c) for c in more.values())]
            )
            two = truth.sum(axis=1) > 1
            both = np.vstack([A, [vectors[name] for name in more]])
            found["class and group"].append(pairs(model, task.X[two], both, truth[two]))
    return {kind: np.concatenate(parts) for kind, parts in found.items()}


def calibration_error(p, true, weights, n_bins=15):
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = [abs((weights * (p - true))[bins == b].sum()) for b in np.unique(bins)]
    return sum(gaps) / weights.sum()


def report(name, kind, rows):
    scores, rivals, true, weights = rows.T
    p = CONFIDENCE.yes_no.probabilities(scores[:, None], rivals)[:, 0]
    yes, true = p >= YES, true > 0
    auroc = roc_auc_score(true, p, sample_weight=weights) if true.any() else np.nan
    said = np.average(yes[true], weights=weights[true]) if true.any() else np.nan
    right = np.average(true[yes], weights=weights[yes]) if yes.any() else np.nan
    values = calibration_error(p, true, weights), np.average((p - true) ** 2, weights=weights), auroc, said, right
    shares = np.average(true, weights=weights), np.average(p, weights=weights), np.average(yes, weights=weights)
    print(f"{name:14}{kind:17}" + "".join(f"{100 * value:9.1f}" for value in (*values, *shares)), flush=True)


def choose(n_tasks=100):
    found = of_tasks(int(n_tasks), seed=0)
    two = ("class and group", "side by side")
    shares = {kind: (0.5 if kind in two else 1.0) / found[kind][:, 3].sum() for kind in KINDS}
    rows = np.concatenate([found[kind] * [1, 1, 1, shares[kind]] for kind in KINDS])
    print(fit_yes_no(rows[:, 0], rows[:, 1], rows[:, 2] > 0, rows[:, 3]))


def main(n_tasks=40):
    print(
        f"{'in percent':31}"
        + "".join(f"{c:>9}" for c in ("ECE", "Brier", "AUROC", "said", "right", "true", "mean p", "yes"))
    )
    for kind, rows in of_tasks(int(n_tasks), seed=1).items():
        report("imagenet", kind, rows)
    model, rng = AEZSLHeads().fit(load_knowledge()), np.random.default_rng(0)
    for name, labels, features, y in (next(imagenet_sets()), *photo_sets(data_folder() / "photos")):
        A = label_vectors(labels).astype(np.float64)
        for kind, rows in of_photos(model, features["lite0"], A, y, rng).items():
            report(name, kind, rows)


if __name__ == "__main__":
    choose(*sys.argv[2:]) if sys.argv[1:2] == ["choose"] else main(*sys.argv[1:])
