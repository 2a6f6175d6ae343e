"""Photos named by any words, with no training image: ``python -m tests.benchmarks.bench_photos [folder]``.

Per-class accuracy in percent on every feature file of a folder, by default ``$AEZSL_REFERENCE_DATA/photos``: ``.npz``
with ``y``, ``names`` and features of EfficientNet-Lite0 and -Lite2 as ``lite0`` and ``lite2``. Beside them: photos of
50 classes that ImageNet's 1,000 do not have, and photos of dogs and birds among four coarse labels. Columns: one
mapping for all labels, ConSE, kernel ridge (one non-linear mapping), category-specific mappings, labels as unions, and
these with all photos named together; then the calibration errors of the last two, and of the soft labels that the last
one rests on. Rows of both networks have the mean of their log probabilities.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, softmax

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.named import imagenet_classes
from aezsl.methods.heads import union
from aezsl.methods.heads.folder import AEZSLHeadsT
from aezsl.methods.heads.methods import AEZSLHeads, HeadMapping, conse
from tests.benchmarks.photo_tasks import data_folder, imagenet_photos, members, per_label

NETWORKS = {"lite0": "efficientnet_lite0", "lite2": "efficientnet_lite2"}
COARSE = {"dog": "n02084071", "cat": "n02121620", "car": "n02958343", "bird": "n01503061"}


def kernel_ridge(seen, X, A, power=8, lam=0.1):
    """One mapping for all labels from a local kernel, ((1 + cos) / 2)^power of centred vectors."""
    S, A = union.centred(seen.S, A)
    gram, to_labels = (((1 + S @ B.T).clip(0) / 2) ** power for B in (S, A))
    k = np.linalg.solve(gram + lam * np.eye(len(S)), to_labels)
    directions, offsets = union.combined(k, seen.rows, seen.biases)
    return X @ directions.T + offsets


COLUMNS = {
    "one mapping": lambda seen, X, A: HeadMapping(weighting="none").fit(seen).decision_function(X, A),
    "conse": lambda seen, X, A: conse(seen).decision_function(X, A),
    "kernel ridge": kernel_ridge,
    "category-specific": lambda seen, X, A: HeadMapping().fit(seen).decision_function(X, A),
    "union": lambda seen, X, A: AEZSLHeads().fit(seen).decision_function(X, A),
    "folder": lambda seen, X, A: AEZSLHeadsT().fit(seen).decision_function(X, A),
}


def photo_sets(folder):
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            if {"y", "names", "lite0"} <= set(file.files):
                features = {key: file[key].astype(np.float64) for key in NETWORKS if key in file.files}
                yield path.stem, [str(name) for name in file["names"]], features, file["y"].astype(int)


def imagenet_sets():
    """Classes outside the 1,000 under their first name, and coarse labels."""
    X, y, X_new, wnid = imagenet_photos()
    words = (line.split("\t") for line in (data_folder() / "imagenet/words_21k.tsv").read_text().splitlines())
    named = {one: names.split(",")[0] for one, names in words}
    new = sorted(set(wnid) - set(imagenet_classes()))
    yield "imagenet50", [named[one] for one in new], {"lite0": X_new}, np.searchsorted(new, wnid)
    truth = np.full(len(y), -1)
    for label in (0, 3):
        truth[np.isin(y, members()[list(COARSE.values())[label]])] = label
    yield "coarse", list(COARSE), {"lite0": X[truth >= 0]}, truth[truth >= 0]


def accuracy(scores, y):
    return 100 * np.mean(list(per_label(scores.argmax(axis=1), y).values()))


def expected_error(scores, y, n_bins=15):
    """How far probabilities are from the share of right names, at temperature one."""
    p, right = softmax(scores, axis=1).max(axis=1), scores.argmax(axis=1) == y
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    return 100 * sum(np.mean(bins == b) * abs(p[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins))


def soft_labels(seen, X, A):
    """Of photos that are named together: what their probabilities were taken from as it is."""
    return AEZSLHeadsT().fit(seen).adapt(A, X).folder.solve({}).log_R


def main(folder=None):
    seen = {key: load_knowledge(network) for key, network in NETWORKS.items()}
    table = {}
    print(f"{'':22}{''.join(f'{name:>19}' for name in COLUMNS)}{'ECE':>8}{'folder':>8}{'soft':>8}")
    for name, labels, features, y in (
        *imagenet_sets(),
        *photo_sets(Path(folder) if folder else data_folder() / "photos"),
    ):
        A = unit_rows(label_vectors(labels).astype(np.float64))
        found = {key: {c: make(seen[key], X, A) for c, make in COLUMNS.items()} for key, X in features.items()}
        if len(found) > 1:
            found["both"] = {c: sum(log_softmax(own[c], axis=1) for own in found.values()) for c in ("union", "folder")}
        for key, columns in found.items():
            row = {c: accuracy(scores, y) for c, scores in columns.items()}
            table.setdefault(key, {})[name] = row
            told = (
                [columns["union"], columns["folder"], soft_labels(seen[key], features[key], A)] if key in seen else []
            )
            errors = "".join(f"{expected_error(scores, y):8.1f}" for scores in told)
            print(
                f"{name:16}{key:6}" + "".join(f"{row.get(c, np.nan):19.1f}" for c in COLUMNS) + errors,
                flush=True,
            )
        far, alike = AEZSLHeads().fit(seen["lite0"]).doubts(A)
        if len(far) or alike:
            print(f"    far: {[labels[i] for i in far]}; alike: {[(labels[i], labels[j]) for i, j in alike]}")
    for key, rows in table.items():
        rows = [row for name, row in rows.items() if name not in ("imagenet50", "coarse")]
        means = {c: np.mean([row[c] for row in rows]) for c in COLUMNS if c in rows[0]} if rows else {}
        print(f"{'mean of ' + str(len(rows)):16}{key:6}" + "".join(f"{means.get(c, np.nan):19.1f}" for c in COLUMNS))


if __name__ == "__main__":
    main(*sys.argv[1:])
