"""Answers by groups against a flat threshold: ``python -m tests.benchmarks.bench_backoff [figure.png]``, or ``... choose``.

Photos named by the photo model, whose knowledge lacks their classes: the 50 classes outside ImageNet's 1,000, and all
120 breeds of Stanford Dogs, 30 at a time, with groups of WordNet. For some thresholds, in percent: the share answered
and the share right of these, by a flat threshold, and by groups where the best class is too improbable; a group is
right if the photo is of one of its classes. Then both shares of answers by class and by group, the mean number of
classes of a group, and the bits that an answer gives (the logarithm of the number of classes less that of the group's,
if right; nothing otherwise). Last, photos without their class in the list: the share that a flat threshold refuses, the
share that groups refuse, and how many of the groups that are given are above the class that is missing.
The model's own threshold is marked. The figure has the curves of the share right over the share answered.

``choose``: the same at the model's own threshold for several least probabilities of a group, over tasks of
``photo_tasks``; "good" counts answers as the threshold's own rule does, with one photo of four without its class:
rightly named photos, and photos without their class that are refused or named by a group above it.
"""  # noqa: E501

import sys
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.named import WIDEST, below, imagenet_classes, upwards, wordnet
from aezsl.evaluation import groups as rule
from aezsl.evaluation.answers import Answers
from aezsl.evaluation.ranking import top_k
from aezsl.formats.wordnet import Taxonomy, read_edges
from aezsl.methods.heads.methods import AEZSLHeads
from aezsl.serving.photos import CONFIDENCE
from tests.benchmarks.bench_photos import imagenet_sets
from tests.benchmarks.photo_tasks import data_folder, draw_tasks, imagenet_photos

THRESHOLDS = (0.15, 0.3, CONFIDENCE.threshold, 0.6, 0.75, 0.9)
PARTS, SHOTS = 4, 20  # of the breeds, and photos of a breed


@dataclass(frozen=True)
class Named:
    """Scores of photos for their labels, and what is above these in WordNet."""

    scores: np.ndarray
    y: np.ndarray
    lineages: list[list[str]]


def lineage(wnid, taxonomy):
    """The class and those above it that may name a photo, nearest first."""
    distances = taxonomy.distances(wnid)
    known = [one for one in distances if one == wnid or below().get(one, WIDEST + 1) <= WIDEST]
    return sorted(known, key=distances.get)


def imagenet50(taxonomy):
    _, labels, features, y = next(imagenet_sets())
    wnids = sorted(set(imagenet_photos()[3]) - set(imagenet_classes()))
    model = AEZSLHeads().fit(load_knowledge())
    scores = model.decision_function(features["lite0"], label_vectors(labels).astype(np.float64))
    return [Named(scores, y, [lineage(wnid, taxonomy) for wnid in wnids])]


def dogs(taxonomy):
    with np.load(data_folder() / "dogs/features/efficientnet_lite0.npz") as file:
        X, files = file["X"], file["files"]
    wnids, y = np.unique([one.split("-")[0] for one in files], return_inverse=True)
    seen, rng, found = load_knowledge(), np.random.default_rng(0), []
    for part in np.array_split(rng.permutation(len(wnids)), PARTS):
        kept = ~np.isin(imagenet_classes(), wnids[part])
        rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:SHOTS] for c in part])
        labels = [wordnet()[wnid].names[0] for wnid in wnids[part]]
        model = AEZSLHeads().fit(seen.subset(kept))
        scores = model.decision_function(X[rows].astype(np.float64), label_vectors(labels).astype(np.float64))
        truth = np.repeat(np.arange(len(part)), SHOTS)
        found.append(Named(scores, truth, [lineage(wnid, taxonomy) for wnid in wnids[part]]))
    return found


def answers(named, threshold, taken_away=False):
    """For every photo: the size of what is said (0 for nothing, 1 for a class), and whether it is right."""
    scores, groups = named.scores, rule.Groups.of(named.lineages)
    if taken_away:
        scores = np.where(np.eye(scores.shape[1], dtype=bool)[named.y], -np.inf, scores)
    said = Answers.make(top_k(scores, scores.shape[1]), [""] * scores.shape[1], 1.0, threshold, groups)
    size = np.where(said.none_of_these, 0, 1)
    right = said.classes[:, 0] == named.y
    for i in np.flatnonzero(said.groups.group >= 0):  # none where there are no groups
        members = groups.classes(said.groups.group[i])
        size[i], right[i] = len(members), named.y[i] in members
    return size, right & (size > 0)


def measured(sets, threshold):
    """Sizes, whether right, and bits of all photos; the same two with their class taken away."""
    found = [answers(named, threshold) for named in sets]
    size, right = (np.concatenate(parts) for parts in zip(*found, strict=True))
    n_classes = np.concatenate([np.full(len(named.y), named.scores.shape[1]) for named in sets])
    away = [answers(named, threshold, taken_away=True) for named in sets]
    return size, right, n_classes, *(np.concatenate(parts) for parts in zip(*away, strict=True))


def mean(values):
    return 100 * np.mean(values) if len(values) else np.nan


def report(sets, threshold):
    size, right, n_classes, away, above = measured(sets, threshold)
    named, grouped = size == 1, size > 1
    bits = np.where(right, np.log2(n_classes / np.maximum(size, 1)), 0)
    values = (
        *(mean(named), mean(right[named]), bits[named].sum() / len(bits)),
        *(mean(size > 0), mean(right[size > 0]), bits.mean(), mean(grouped), mean(right[grouped])),
        *(size[grouped].mean() if grouped.any() else np.nan, mean(away != 1), mean(away == 0), mean(above[away > 1])),
    )
    own = "*" if threshold == CONFIDENCE.threshold else " "
    print(f"{threshold:.2f}{own}" + "".join(f"{value:9.1f}" for value in values), flush=True)


def draw(place, found):
    from aezsl.reporting.figures import BLUE, ORANGE, new_figure

    figure = new_figure(9, 4)
    for axes, (name, sets) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        rows = [measured(sets, threshold)[:2] for threshold in np.linspace(0.05, 0.98, 32)]
        for label, colour, most in (("class only", ORANGE, 1), ("class or group", BLUE, np.inf)):
            kept = [((size > 0) & (size <= most), right) for size, right in rows]
            axes.plot([mean(k) for k, _ in kept], [mean(right[k]) for k, right in kept], color=colour, label=label)
        axes.set(title=name, xlabel="answered, %", ylabel="right of these, %")
        axes.legend()
    figure.savefig(place, dpi=100)


def choose(n_tasks=60):
    tasks, seen, sets = draw_tasks(int(n_tasks), seed=0), load_knowledge(), []
    for task in tasks:
        A = label_vectors(task.labels).astype(np.float64)
        above = [[one for one in upwards(node) if below()[one] <= WIDEST] for node in task.nodes]
        sets.append(Named(AEZSLHeads().fit(seen.subset(task.kept)).decision_function(task.X, A), task.y, above))
    print(
        f"{'least':5}"
        + "".join(f"{c:>9}" for c in ("groups", "right", "by group", "right", "refused", "above", "good"))
    )
    for least in (CONFIDENCE.threshold, 0.6, rule.least_of_group(CONFIDENCE.threshold), 0.85, 2.0):
        with patch.object(rule, "least_of_group", return_value=least):
            size, right, _, away, above = measured(sets, CONFIDENCE.threshold)
        good = 0.75 * right.mean() + 0.25 * ((away == 0) | ((away > 1) & above)).mean()
        values = (size > 0).mean(), right[size > 0].mean(), (size > 1).mean(), mean(right[size > 1]) / 100
        values += (away == 0).mean(), mean(above[away > 1]) / 100, good
        print(f"{least:5.3f}" + "".join(f"{100 * value:9.1f}" for value in values), flush=True)


def main(place=None):
    taxonomy = Taxonomy(read_edges(data_folder() / "imagenet/wordnet.is_a.txt"))
    found = {"imagenet50": imagenet50(taxonomy), "dogs": dogs(taxonomy)}
    for name, sets in found.items():
        print(f"{name}: {sum(len(one.y) for one in sets)} photos, best class right: ", end="")
        print(f"{mean(np.concatenate([one.scores.argmax(axis=1) == one.y for one in sets])):.1f}%")
        columns = ("flat", "right", "bits", "groups", "right", "bits", "by group", "right", "size")
        print(f"{'':5}" + "".join(f"{c:>9}" for c in (*columns, "refused", "refused", "above")))
        for threshold in THRESHOLDS:
            report(sets, threshold)
    if place:
        draw(place, found)


if __name__ == "__main__":
    choose(*sys.argv[2:]) if sys.argv[1:2] == ["choose"] else main(*sys.argv[1:])
