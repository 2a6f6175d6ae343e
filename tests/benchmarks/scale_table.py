"""Hours and money for all of ImageNet, from measured rates: ``python -m tests.benchmarks.scale_table [measure]``.

With ``measure`` the rates are measured on this machine first, in a minute or two; without, they are those of ``RATES``.
A worker is one core, and seconds are processor time on one thread, so that other work on the machine matters little.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aezsl.data.statistics import BLOCK_ROWS, BLOCKS_OF_A_TASK, SeenStatistics
from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.evaluation.ranking import top_k_products
from aezsl.formats.webdataset import WebDataset
from aezsl.machine.workers import one_blas_thread
from aezsl.methods.aezsl.streamed import BLOCK_TARGETS, block_classifiers, sum_right_sides
from tests.benchmarks.bench_aezsl import of_all_imagenet
from tests.benchmarks.bench_extraction import BATCH, write_shards

IMAGES, CLASSES, SEEN_IMAGES, FEATURES = 14_000_000, 20_842, 1_280_000, 1280
WORKERS = (1, 10, 100)

#: An assumption: what a core costs by the hour, with the memory that goes with it.
PRICE_PER_CORE_HOUR = 0.05
#: A cautious shared file system, bytes per second, and what is read from it: assumptions, too.
SHARED_DRIVE = 1.0e9
BYTES_PER_IMAGE = 110_000
#: Tasks that Dask's scheduler starts in a second: 1,000 empty ones took 5 s.
TASKS_PER_SECOND = 200


@dataclass(frozen=True)
class Rates:
    """What one core does in a second."""

    images: float  # of 500 x 375 pixels, decoded from tar files and through EfficientNet-Lite0
    operations: float  # of X'X in double precision, from features in single precision
    classes: float  # of AEZSL, coupled, at one point: rank 384, 1,000 seen classes, both passes
    ranked: float  # images whose 20 best of 20,842 classes are found


#: By ``measure`` on a core of an AMD EPYC, beside other work; classes by ``bench_aezsl workers`` on quiet ones.
RATES = Rates(images=46.7, operations=6.0e10, classes=16.9, ranked=1480)


def seconds(work):
    start = time.process_time()
    with one_blas_thread():
        work()
    return time.process_time() - start


def measured_rates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8 * BLOCK_ROWS, FEATURES)).astype(np.float32)
    P, y = rng.normal(size=(FEATURES, CLASSES)).astype(np.float32), np.arange(len(X)) % 1000
    summing = seconds(lambda: SeenStatistics.from_samples(X, y, 1000))
    ranking = seconds(lambda: top_k_products(X[:6144], P, 20))
    problem, blocks = of_all_imagenet()
    block, Z = tuple(part[:16] for part in blocks[0]), np.zeros((FEATURES, problem.seen.S.shape[1]))
    solving = seconds(lambda: (sum_right_sides(block, problem), block_classifiers(block, problem, Z)))
    return Rates(_images_per_second(), 2 * len(X) * FEATURES**2 / summing, 16 / solving, 6144 / ranking)


def _images_per_second(n_images=128):
    backbone = make_backbone("efficientnet_lite0")
    settings = ExtractionSettings(batch_size=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        write_shards(Path(folder), n_images)
        images = WebDataset(root=folder).read().images
        backbone.load()
        store = VectorStore(Path(folder) / "store")
        return n_images / seconds(lambda: extract_to_store(backbone, images, store, settings))


@dataclass(frozen=True)
class Stage:
    """Work to be spread (core_seconds), what is read from the shared drive, and tasks that the scheduler starts."""

    name: str
    core_seconds: float
    bytes_read: float
    n_tasks: int

    def seconds(self, n_workers: int) -> tuple[float, str]:
        """The longest of what goes on at the same time, and which that is."""
        limits = {
            "cores": self.core_seconds / min(n_workers, self.n_tasks),
            "shared drive": self.bytes_read / SHARED_DRIVE,
            "scheduler": self.n_tasks / TASKS_PER_SECOND,
        }
        longest = max(limits, key=lambda name: limits[name])
        return limits[longest], longest

    def saturates_at(self) -> int:
        """With how many workers something else than cores decides."""
        floor = max(self.bytes_read / SHARED_DRIVE, self.n_tasks / TASKS_PER_SECOND)
        return min(self.n_tasks, int(self.core_seconds / floor))


def stages(rates):
    gram = 2 * SEEN_IMAGES * FEATURES**2 / rates.operations
    gram_tasks = SEEN_IMAGES // (BLOCK_ROWS * BLOCKS_OF_A_TASK)
    blocks = -(-CLASSES // BLOCK_TARGETS)
    return (
        Stage("extract features of all images", IMAGES / rates.images, IMAGES * BYTES_PER_IMAGE, IMAGES // 512),
        Stage("statistics of the seen images (one pass)", gram, 4 * SEEN_IMAGES * FEATURES, gram_tasks),
        Stage("AEZSL for 20,842 classes, one point", CLASSES / rates.classes, 0, blocks),
        Stage(
            "rank all images among 20,842 classes", IMAGES / rates.ranked, 4 * IMAGES * FEATURES, IMAGES // BLOCK_ROWS
        ),
    )


def main(measure=""):
    rates = measured_rates() if measure else RATES
    print(f"{rates}\n")
    columns = ["stage", *(f"{n} workers" if n > 1 else "1 worker" for n in WORKERS), "workers at which it saturates"]
    print(f"| {' | '.join(columns)} |")
    print("|---|" + "---|" * (len(columns) - 1))
    totals = dict.fromkeys(WORKERS, 0.0)
    for stage in stages(rates):
        cells = []
        for n in WORKERS:
            taken, limit = stage.seconds(n)
            totals[n] += taken
            cells.append(f"{taken / 3600:,.2f} h" + ("" if limit == "cores" else f" ({limit})"))
        print(f"| {stage.name} | {' | '.join(cells)} | {stage.saturates_at():,} |")
    costs = [f"{totals[n] / 3600:,.1f} h, {n * totals[n] / 3600 * PRICE_PER_CORE_HOUR:,.1f} USD" for n in WORKERS]
    print(f"| together | {' | '.join(costs)} | |")


if __name__ == "__main__":
    main(*sys.argv[1:])
