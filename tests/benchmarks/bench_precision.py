"""Eight bits beside single precision: ``python -m tests.benchmarks.bench_precision [images per class]``.

On the images of AEZSL_REFERENCE_DATA: processor milliseconds of the network for an image, cosines of the features, and
what they are good for: names by the photo model, and the class with the nearest mean of all other images.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.pictures import load_encode
from aezsl.encoders.images.preprocessing import LITE_SIZES
from aezsl.serving.classes import find_classes
from aezsl.serving.photos import NETWORK, photo_model

SIZE = LITE_SIZES[NETWORK]

#: Folders of images by class.
SETS = {
    "animals": "photos/images/animals",
    "clothing": "photos/images/clothing",
    "CUB": "cub/CUB_200_2011/images",
    "Dogs": "dogs/Images",
}


def read_set(folder, n_per_class=None):
    """Paths, class numbers, and names of folders such as ``n02085620-Chihuahua``, ``001.Black_footed_Albatross``."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    files = [(file, number) for number, path in enumerate(classes) for file in sorted(path.glob("*.jpg"))[:n_per_class]]
    names = [path.name.lstrip("n0123456789").lstrip("-.").replace("_", " ") for path in classes]
    paths, y = zip(*files, strict=True)
    return list(paths), np.array(y), names


def nearest_mean(X, y):
    """The share of images whose own class has the nearest mean, each image left out of its own."""
    X = unit_rows(X.astype(np.float64))
    sums = np.stack([X[y == c].sum(axis=0) for c in range(y.max() + 1)])
    cosines = X @ unit_rows(sums).T
    own = unit_rows(sums[y] - X)
    cosines[np.arange(len(y)), y] = (X * own).sum(axis=1)
    return np.mean(cosines.argmax(axis=1) == y)


def predicted(X, names):
    """What the photo model calls images, by their features."""
    model = photo_model()
    return model.answer(X, find_classes(model.recipe, names)).predicted


def milliseconds(network, pixels, seconds=1.0):
    """Processor time for an image, the least of some rounds."""
    network(pixels)
    found, start = [], time.process_time()
    while time.process_time() - start < seconds:
        begun = time.process_time()
        network(pixels)
        found.append(1000 * (time.process_time() - begun) / len(pixels))
    return min(found)


def compare(title, X, y, names):
    """Print what features of both precisions are good for."""
    single, eight = X
    cosines = (unit_rows(single) * unit_rows(eight)).sum(axis=1)
    called = [predicted(one, names) for one in X]
    right = [100 * np.mean(one == np.array(names, dtype=object)[y]) for one in called]
    means = [100 * nearest_mean(one, y) for one in X]
    print(
        f"{title}: {len(y)} images, cosine {cosines.mean():.4f} (least {cosines.min():.4f}); names right "
        f"{right[0]:.1f} and {right[1]:.1f} %, the same name {100 * np.mean(called[0] == called[1]):.1f} %; "
        f"nearest mean {means[0]:.1f} and {means[1]:.1f} %",
        flush=True,
    )


def main(n_per_class=None, root=None):
    backbones = [make_backbone(NETWORK, precision=precision) for precision in ("float32", "int8")]
    pixels = np.random.default_rng(0).normal(size=(8, 3, SIZE, SIZE)).astype(np.float32)
    single, eight = (milliseconds(backbone.load()[1], pixels) for backbone in backbones)
    print(f"{NETWORK}: {single:.2f} and {eight:.2f} ms of processor time for an image, {single / eight:.2f} times")
    encoders = [load_encode([backbone]) for backbone in backbones]
    for title, place in SETS.items():
        paths, y, names = read_set(Path(root or os.environ["AEZSL_REFERENCE_DATA"]) / place, n_per_class)
        compare(title, [encode(paths) for encode in encoders], y, names)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
