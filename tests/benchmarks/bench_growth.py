"""What work costs against its size: ``python -m tests.benchmarks.bench_growth [--figure growth.png]``.

Processor seconds and the peak of all arrays, as a table and, with --figure, as a log-log figure. The exponent is the
slope through the last four sizes that took at least a hundredth of a second, beside what the mathematics says. A series
ends where the next size would take longer than --seconds. Features are synthetic, images are of one small file, and the
network that looks at them is a mean: what is measured is everything around it.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.knowledge.labels import plain_label
from aezsl.encoders.knowledge.named import wordnet
from aezsl.evaluation.ranking import top_k_products
from aezsl.methods import make_method
from aezsl.methods.propagation.balanced import Objective, propagate
from aezsl.methods.propagation.neighbours import neighbour_graph
from aezsl.serving.photos import PHOTOS, name_one_photo, photo_model
from tests.benchmarks.bench_propagation import WEIGHTS, make_pool
from tests.benchmarks.measuring import make_problem, measured

D, A, N_CLASSES = 64, 16, 50

#: Seconds below which a measurement says little.
NOISE = 0.01


def extraction(folder, n_images):
    path = folder / "image.png"
    Image.new("RGB", (32, 32), "orange").save(path)
    ids = [str(number) for number in range(n_images)]
    images = pd.DataFrame({"image_id": ids, "path": str(path)})
    engine = lambda image: np.asarray(image, dtype=np.float32).transpose(2, 0, 1), lambda batch: batch.mean(axis=(2, 3))
    backbone = Backbone({"backbone": "mean"}, lambda: engine)
    store = VectorStore(folder / f"store_{n_images}")
    return lambda: extract_to_store(backbone, images, store, ExtractionSettings())


def fit(_, n_images):
    seen, *_ = make_problem(n_images, 1, D, A, N_CLASSES, 2)
    return lambda: make_method("eszsl").fit(*seen)


def adapt(_, n_targets):
    seen, targets, *_ = make_problem(2_000, 1, D, A, N_CLASSES, n_targets)
    model = make_method("aezsl").fit(*seen)
    return lambda: model.adapt(targets)


def rank(_, n_classes, n_images=2_000):
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(n_images, D)), rng.normal(size=(D, n_classes))
    return lambda: top_k_products(X.astype(np.float32), P.astype(np.float32), 5)


def rank_images(_, n_images):
    return rank(_, 1_000, n_images)


def spread(_, n_pool):
    X, G, prototypes, _ = make_pool(n_pool, D, N_CLASSES)
    shares = np.full(N_CLASSES, 1 / N_CLASSES)

    def work():
        graph = neighbour_graph(X, 10)
        return propagate(Objective(G, graph, shares, WEIGHTS, X, prototypes), max_rounds=5)

    return work


def labels(folder, n_labels):
    photo_model()  # made the first time
    photo = folder / "photo.png"
    Image.new("RGB", (224, 224), "orange").save(photo)
    names = sorted({entry.names[0] for entry in wordnet().values()})
    words = [f"{colour} {name}" for colour in ("red", "small", "old", "young", "wet", "big") for name in names]
    distinct = list({plain_label(word).casefold(): word for word in words}.values())[:n_labels]
    assert len(distinct) == n_labels
    return partial(name_one_photo, photo, distinct, PHOTOS, "auto", False)


def powers(first, last):
    """Two sizes in every power of ten, and the last one."""
    return [*(size for power in range(7) for size in (10**power, 3 * 10**power) if first <= size < last), last]


#: What is done -> how to prepare it, what its size is, the sizes, and the exponent that the mathematics says.
SERIES = {
    "extraction": (extraction, "images", powers(1_000, 10**6), 1),
    "fit": (fit, "images", powers(1_000, 10**6), 1),
    "adapt": (adapt, "classes", powers(10, 20_842), 1),
    "rank": (rank, "classes", powers(10, 20_842), 1),
    "rank images": (rank_images, "images", powers(1_000, 10**6), 1),
    "propagate": (spread, "pool", powers(100, 10**5), 2),
    "labels": (labels, "labels", powers(10, 5_000), 1),
}


def series(name, seconds, sizes):
    """Size, processor seconds and MiB, as far as the bound reaches."""
    prepare, _, all_sizes, expected = SERIES[name]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        measured(prepare(Path(folder), all_sizes[0]))  # imports
    for size in all_sizes[:sizes]:
        if found and found[-1][1] * (size / found[-1][0]) ** expected > seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            _, taken, peak = measured(prepare(Path(folder), size))
        found.append((size, taken, peak))
    return found


def exponent(found, column):
    """The slope of a column against size, both as logarithms; not a number where too few points say anything."""
    told = np.log([point for point in found[-4:] if point[1] >= NOISE and point[2] > 0])
    return float(np.polyfit(told[:, 0], told[:, column], 1)[0]) if len(told) > 2 else float("nan")


def draw(measured_series, path):
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, column, what in zip(axes, (1, 2), ("processor seconds", "peak MiB"), strict=True):
        for name, found in measured_series.items():
            slope = exponent(found, column)
            axis.loglog(*zip(*((p[0], p[column]) for p in found), strict=True), ".-", label=f"{name}, {slope:.2f}")
        axis.set(xlabel="size", ylabel=what)
        axis.legend(fontsize="small", title="exponent")
    figure.savefig(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SERIES, default=list(SERIES))
    parser.add_argument("--seconds", type=float, default=10.0, help="The longest that one size may take.")
    parser.add_argument("--sizes", type=int, help="How many sizes of each series at most.")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    measured_series = {}
    for name in arguments.only:
        measured_series[name] = found = series(name, arguments.seconds, arguments.sizes)
        (first, start, low), (last, end, high) = found[0], found[-1]
        print(
            f"{name:12s} {SERIES[name][1]} {first:,} to {last:,}: {start:.3f} to {end:.2f} s, {low:.1f} to {high:.0f} "
            f"MiB; exponents {exponent(found, 1):.2f} (expected {SERIES[name][3]}) and {exponent(found, 2):.2f}",
            flush=True,
        )
    if arguments.figure:
        draw(measured_series, arguments.figure)
