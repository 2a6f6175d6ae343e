"""Own images beside what a network knows: ``python -m tests.benchmarks.bench_own_knowledge [choose]``.

Real photos in ``$AEZSL_REFERENCE_DATA``, features of EfficientNet-Lite0, class names as descriptions. Of every set 6 or
20 classes are drawn as seen, with five images each to learn from; others are unseen. Per-class accuracy in percent,
mean over draws: of unseen classes among themselves, then of seen and of unseen ones among all together. Beside each
other: the photo model, with own classes (``own.knowledge=networks``), with own classes only (``none``), and ``aezsl``.

``choose``: the same for several ridges, on classes of ImageNet that are held out; no other photo plays a part.
"""

import sys

import numpy as np

from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.named import imagenet_classes, wordnet
from aezsl.methods import make_method
from aezsl.methods.heads.methods import RIDGE, AEZSLHeads, with_own_classes
from tests.benchmarks.photo_tasks import data_folder, draw_topic, imagenet_photos, members

SHOTS, DRAWS, MOST = 5, 5, 40
RIDGES = (0.1, 0.3, 0.6, 1.0, 3.0)


def photo_sets():
    for name in ("animals", "objects"):
        with np.load(data_folder() / f"photos/{name}.npz") as file:
            yield name, [str(one) for one in file["names"]], file["lite0"].astype(np.float64), file["y"].astype(int)
    root = data_folder() / "cub/CUB_200_2011"
    names = [line.split(".", 1)[1].replace("_", " ") for line in (root / "classes.txt").read_text().splitlines()]
    y = np.loadtxt(root / "image_class_labels.txt", dtype=int)[:, 1] - 1
    with np.load(data_folder() / "cub/features/efficientnet_lite0.npz") as file:
        yield "cub", names, file["X"].astype(np.float64), y
    with np.load(data_folder() / "dogs/features/efficientnet_lite0.npz") as file:
        folders, y = np.unique([one.split("/")[0] for one in file["files"]], return_inverse=True)
        names = [one.split("-", 1)[1].replace("_", " ") for one in folders]
        yield "dogs", names, file["X"].astype(np.float64), y


def draw(rng, y, n_seen):
    """Classes, seen ones first; rows to learn from; rows to test, with the places of their classes."""
    classes = rng.permutation(np.unique(y))[:MOST]
    learn, test = [], []
    for place, one in enumerate(classes):
        rows = rng.permutation(np.flatnonzero(y == one))[:30]
        learn += rows[: SHOTS * (place < n_seen)].tolist()
        test += rows[SHOTS * (place < n_seen) :].tolist()
    place = np.full(y.max() + 1, -1)
    place[classes] = np.arange(len(classes))
    return classes, np.array(learn), np.array(test), place


def per_class(found, y, classes):
    return 100 * np.mean([(found[y == one] == one).mean() for one in classes if (y == one).any()])


def figures(scores, y, n_seen):
    """Unseen classes among themselves; seen, then unseen ones among all."""
    n, new = scores.shape[1], y >= n_seen
    among_new = n_seen + scores[:, n_seen:].argmax(axis=1)
    everywhere = scores.argmax(axis=1)
    return (
        per_class(among_new[new], y[new], range(n_seen, n)),
        per_class(everywhere, y, range(n_seen)),
        per_class(everywhere, y, range(n_seen, n)),
    )


def plain_aezsl(X, y, A, X_test):
    """``aezsl`` at its default parameters, in the first of its normalisations."""
    n_seen = int(y.max()) + 1
    normalise, rows = fit_normaliser(["sqrt", "centre", "l2"], X)
    return make_method("aezsl").fit(rows, y, A[:n_seen]).decision_function(normalise(X_test), A)


def compare():
    known = load_knowledge()
    print(f"{'unseen | seen and unseen together':34}{'photo model':>18}{'networks':>18}{'none':>18}{'aezsl':>18}")
    for name, labels, X, y in photo_sets():
        vectors = label_vectors(labels).astype(np.float64)
        for n_seen in (6, 20):
            if n_seen + 2 > len(labels):
                continue
            rows = []
            for seed in range(DRAWS):
                classes, learn, test, place = draw(np.random.default_rng(seed), y, n_seen)
                A, own = vectors[classes], (X[learn], place[y[learn]], vectors[classes[:n_seen]])
                models = (known, with_own_classes(known, *own), with_own_classes(known, *own, alone=True))
                scores = [AEZSLHeads().fit(one).decision_function(X[test], A) for one in models]
                scores.append(plain_aezsl(*own[:2], A, X[test]))
                rows.append([figures(one, place[y[test]], n_seen) for one in scores])
            told = [f"{a:.0f} | {b:.0f} {c:.0f}" for a, b, c in np.mean(rows, axis=0)]
            print(f"{f'{name}, {n_seen} seen':34}" + "".join(f"{one:>18}" for one in told), flush=True)


def choose(n_tasks=60):
    rng, (X, y, _, _), known = np.random.default_rng(1), imagenet_photos(), load_knowledge()
    rows = []
    while len(rows) < n_tasks:
        topic = draw_topic(rng) if rng.random() < 0.7 else None
        among = members()[topic] if topic else range(len(imagenet_classes()))
        n_seen, n_new, shots = (int(rng.choice(values)) for values in ((1, 3, 6, 12), (5, 10, 20), (1, 2, 3, 4)))
        if len(among) < n_seen + n_new:
            continue
        classes = rng.choice(among, n_seen + n_new, replace=False)
        kept = np.ones(len(imagenet_classes()), dtype=bool)
        kept[classes[rng.random(len(classes)) < 0.7]] = False
        photos = [rng.permutation(np.flatnonzero(y == one)) for one in classes]
        learn = np.concatenate([own[:shots] for own in photos[:n_seen]])
        rest = [own[shots * (i < n_seen) :] for i, own in enumerate(photos)]
        truth, own_truth = np.repeat(range(len(rest)), list(map(len, rest))), np.repeat(range(n_seen), shots)
        A = label_vectors([wordnet()[imagenet_classes()[one]].names[0] for one in classes]).astype(np.float64)
        base, X_test = known.subset(kept), X[np.concatenate(rest)]
        models = [base, *(with_own_classes(base, X[learn], own_truth, A[:n_seen], ridge) for ridge in RIDGES)]
        rows.append([figures(AEZSLHeads().fit(one).decision_function(X_test, A), truth, n_seen) for one in models])
    for name, (new, seen, unseen) in zip(["photo model", *RIDGES], np.mean(rows, axis=0), strict=True):
        harmonic = 2 * seen * unseen / (seen + unseen)
        mark = " (chosen)" if name == RIDGE else ""
        print(f"ridge {name}: unseen {new:.1f} | seen {seen:.1f}, unseen {unseen:.1f}, harmonic {harmonic:.1f}{mark}")


if __name__ == "__main__":
    choose() if "choose" in sys.argv else compare()
