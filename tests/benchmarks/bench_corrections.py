"""What corrections of a folder are worth: ``python -m tests.benchmarks.bench_corrections [--sets animals objects]``.

Names of the photos that were NOT corrected, percent right, after 0, 5, 10, 20 and 50 corrections, on the feature files
(EfficientNet-Lite0) of ``$AEZSL_REFERENCE_DATA/photos``: asked by the rule of ``methods.heads.corrections``, in random
order, and most uncertain first. A draw is four fifths of the photos. In brackets: the same photos without any
correction, so that the difference is what the corrections did; the rest is that doubtful photos were left out.

``choose``: the gain of 20 corrections on folders of ImageNet's held-out classes (``photo_tasks``) and of Tiny ImageNet,
by how much a corrected photo is worth, how much it teaches, and how far one photo says something of others.
``describe``: accuracy when labels get a sentence (``sentences.csv``), those of the most confused pairs first or in
random order. ``speed``: what a correction costs beside naming the folder.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.named import imagenet_classes, wordnet
from aezsl.methods.heads import corrections
from aezsl.methods.heads.folder import AEZSLHeadsT
from tests.benchmarks import photo_tasks
from tests.benchmarks.bench_photos import photo_sets
from tests.benchmarks.measuring import measured
from tests.benchmarks.photo_tasks import data_folder, draw_tasks

STEPS = (0, 5, 10, 20, 50)
TOGETHER = 3  # photos that are asked at once


def by_rule(folder, known, n, rng):
    return folder.folder.ask(known, n)


def at_random(folder, known, n, rng):
    return rng.permutation(np.setdiff1d(np.arange(len(folder.labels)), list(known)))[:n].tolist()


def most_uncertain(folder, known, n, rng):
    best = np.exp(folder.corrected(known).scores(folder._pool)).max(axis=1)
    best[list(known)] = np.inf
    return np.argsort(best, kind="stable")[:n].tolist()


RULES = {"our rule": by_rule, "random order": at_random, "most uncertain first": most_uncertain}


def right(folder, X, y, known):
    """Percent right of the photos that are not known, with and without what is known."""
    rest = np.setdiff1d(np.arange(len(y)), list(known))
    return [100 * np.mean((one.scores(X).argmax(axis=1) == y)[rest]) for one in (folder.corrected(known), folder)]


def course(folder, X, y, rule, steps, seed):
    """The same after every number of corrections in ``steps``: (steps, 2)."""
    rng, known, found = np.random.default_rng(seed), {}, []
    for step in steps:
        while len(known) < min(step, len(y) - 1):
            asked = rule(folder, known, min(TOGETHER, step - len(known)), rng)
            known |= {row: int(y[row]) for row in asked}
        found.append(right(folder, X, y, known))
    return np.array(found)


def real_sets(names, n_draws, n_photos, steps):
    seen, means = load_knowledge("efficientnet_lite0"), {}
    print(f"{'':33}" + "".join(f"{step:>15}" for step in steps))
    for name, labels, features, y in photo_sets(data_folder() / "photos"):
        if names and name not in names:
            continue
        A = unit_rows(label_vectors(labels).astype(np.float64))
        for rule, ask in RULES.items():
            draws = []
            for draw in range(n_draws):
                rows = np.random.default_rng(draw).permutation(len(y))[: min(4 * len(y) // 5, n_photos)]
                X = features["lite0"][rows]
                draws.append(course(AEZSLHeadsT().fit(seen).adapt(A, X), X, y[rows], ask, steps, draw))
            means.setdefault(rule, []).append(np.mean(draws, axis=0))
            show(name, rule, means[rule][-1])
    for rule, found in means.items():
        mean = np.mean(found, axis=0)
        show(f"mean of {len(found)}", rule, mean)
        print(f"{'':33}" + "".join(f"{value:+15.1f}" for value in mean[:, 0] - mean[0, 0]))


def show(name, rule, found):
    print(f"{name:11} {rule:21}" + "".join(f"{after:8.1f} ({base:.1f})" for after, base in found), flush=True)


def tiny_folders(n, n_photos, seed=0):
    """Photos of 6 to 30 classes of Tiny ImageNet, evenly many or not; two in five classes are held out."""
    rng, place = np.random.default_rng(seed), {wnid: i for i, wnid in enumerate(imagenet_classes())}
    with np.load(data_folder() / "tiny_imagenet/efficientnet_lite0.npz") as file:
        X, (wnids, y) = file["X"], np.unique(file["wnid"], return_inverse=True)
    for _ in range(n):
        classes = rng.permutation(len(wnids))[: rng.integers(6, 31)]
        shares = np.full(len(classes), 1.0) if rng.random() < 0.5 else rng.dirichlet(np.ones(len(classes)))
        counts = np.maximum(3, min(600, n_photos) * shares / shares.sum()).astype(int)
        rows = [rng.permutation(np.flatnonzero(y == c))[:k] for c, k in zip(classes, counts, strict=True)]
        held = [place[wnids[c]] for c in classes if wnids[c] in place and rng.random() < 0.4]
        kept = ~np.isin(np.arange(len(place)), held)
        truth = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
        yield [wordnet()[wnids[c]].names[0] for c in classes], kept, X[np.concatenate(rows)].astype(np.float64), truth


def choose(n_tasks, n_photos):
    """Half of the folders are of either kind; tasks have up to 40 photos of a label here, as folders do."""
    seen = load_knowledge("efficientnet_lite0")
    with patch.object(photo_tasks, "PHOTOS", 40):
        tasks = [task for task in draw_tasks(2 * n_tasks) if len(task.y) >= 150][: n_tasks // 2]
    found = [(task.labels, task.kept, task.X, task.y) for task in tasks]
    folders = []
    for labels, kept, X, y in [*found, *tiny_folders(n_tasks // 2, n_photos)]:
        A = unit_rows(label_vectors(labels).astype(np.float64))
        folders.append((AEZSLHeadsT().fit(seen.subset(kept)).adapt(A, X), X, y))

    def gains(rule):
        found = [course(*one, rule, (0, 20), i) for i, one in enumerate(folders)]
        return [f[1, 0] - f[0, 0] for f in found]

    defaults = {"WORTH": corrections.WORTH}
    for changed in [
        defaults,
        {"WORTH": 1.0},
        {"WORTH": 10.0},
        {"TAUGHT": 0.0},
        {"TAUGHT": 5.0},
        {"TAUGHT": 20.0},
        {"REACH": 0.9},
    ]:
        for one, *_ in folders:
            vars(one.folder).pop("_dependence", None)
            one.folder._lately.clear()
        with patch.multiple(corrections, **changed):
            line = {name: gains(RULES[name]) for name in (RULES if changed is defaults else ["our rule"])}
        told = ", ".join(f"{name} {np.mean(v):+.1f} +- {np.std(v) / len(v) ** 0.5:.1f}" for name, v in line.items())
        print(f"{'defaults' if changed is defaults else changed}: {told}", flush=True)


def described(names, n_draws, n_photos, steps):
    """Percent right after so many labels have a sentence beside their name; chosen and in random order."""
    seen = load_knowledge("efficientnet_lite0")
    sentences = dict(pd.read_csv(Path(__file__).with_name("sentences.csv")).itertuples(index=False))
    means = {}
    for name, labels, features, y in photo_sets(data_folder() / "photos"):
        if names and name not in names:
            continue
        plain, full = (
            unit_rows(label_vectors(texts).astype(np.float64))
            for texts in (labels, [f"{label}: {sentences[label]}" for label in labels])
        )
        for rule in ("confused", "random"):
            draws = []
            for draw in range(n_draws):
                rng = np.random.default_rng(draw)
                rows = rng.permutation(len(y))[: min(4 * len(y) // 5, n_photos)]
                X, A, done, found = features["lite0"][rows], plain.copy(), [], []
                order = rng.permutation(len(labels)).tolist()
                for step in steps:
                    folder = AEZSLHeadsT().fit(seen).adapt(A, X)
                    while len(done) < min(step, len(labels)):
                        pairs = folder.folder.confused({})
                        ranked = np.argsort(-pairs, axis=None) if rule == "confused" else order
                        both = (
                            [label for pair in ranked for label in divmod(pair, len(labels))]
                            if rule == "confused"
                            else order
                        )
                        done.append(next(label for label in both if label not in done))
                        A[done[-1]] = full[done[-1]]
                        folder = AEZSLHeadsT().fit(seen).adapt(A, X)
                    found.append(100 * np.mean(folder.scores(X).argmax(axis=1) == y[rows]))
                draws.append(found)
            means.setdefault(rule, []).append(np.mean(draws, axis=0))
            print(f"{name:11} {rule:9}" + "".join(f"{v:8.1f}" for v in means[rule][-1]), flush=True)
    for rule, found in means.items():
        print(f"mean of {len(found):3} {rule:9}" + "".join(f"{v:8.1f}" for v in np.mean(found, axis=0)))


def speed(sizes):
    """Processor seconds on photos of the set of objects."""
    seen = load_knowledge("efficientnet_lite0")
    (found,) = (one for one in photo_sets(data_folder() / "photos") if one[0] == "objects")
    A = unit_rows(label_vectors(found[1]).astype(np.float64))
    for m in sizes:
        rows = np.random.default_rng(0).permutation(len(found[3]))[:m]
        X, known = found[2]["lite0"][rows], {i: int(found[3][row]) for i, row in enumerate(rows[:20])}
        folder, first, _ = measured(partial(AEZSLHeadsT().fit(seen).adapt, A, X))
        again, ask, next_ask = (
            measured(partial(what, known))[1] for what in (folder.corrected, folder.folder.ask, folder.folder.ask)
        )
        print(
            f"{m} photos, {len(A)} labels: named in {first:.1f} s; after a correction in {again / first:.2f} of that "
            f"({again:.2f} s), which to ask in {ask / first:.2f}, the next time in {next_ask / first:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["sets", "choose", "describe", "speed"], default="sets")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--photos", type=int, default=sys.maxsize)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--steps", type=int, nargs="*", default=STEPS)
    parser.add_argument("--sizes", type=int, nargs="*", default=(500, 2000))
    given = parser.parse_args()
    if given.what == "choose":
        choose(given.tasks, given.photos)
    elif given.what == "describe":
        described(given.sets, given.draws, given.photos, given.steps)
    elif given.what == "speed":
        speed(given.sizes)
    else:
        real_sets(given.sets, given.draws, given.photos, given.steps)
