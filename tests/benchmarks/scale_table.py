"""Hours and money for all of ImageNet, from measured rates: ``python -m tests.benchmarks.scale_table``.

Every rate says where it was measured; a worker is one core. Change the constants to your own machines.
"""

from dataclasses import dataclass

from aezsl.data.statistics import BLOCK_ROWS, BLOCKS_OF_A_TASK

IMAGES, CLASSES, SEEN_IMAGES, FEATURES = 14_000_000, 20_842, 1_280_000, 1280
WORKERS = (1, 10, 100)

#: An assumption: what a core costs by the hour, with the memory that goes with it.
PRICE_PER_CORE_HOUR = 0.05

#: 5,495 small images in 39 s on 2 cores (data/README.md, cost of a run); photographs are decoded on top of that.
IMAGES_PER_CORE_SECOND = 5_495 / 39 / 2
#: The 20 best of 20,842 classes for 10,000 images in 17 s on 2 threads (tests/README.md).
RANKED_PER_CORE_SECOND = 10_000 / 17 / 2
#: 785 coupled classes in 134 s on one thread, rank 384 (tests/README.md); in blocks, time is in proportion to them.
CLASSES_PER_CORE_SECOND = 785 / 134
#: Operations of X'X: 1.16e11 in float32 (4,096 x 1,280, one thread, processor time), half of that in float64.
OPERATIONS_PER_CORE_SECOND = 5.8e10

#: A cautious shared file system, bytes per second, and what is read from it.
SHARED_DRIVE = 1.0e9
BYTES_PER_IMAGE = 110_000
#: Tasks that Dask's scheduler starts in a second: 1,000 empty ones took 5 s.
TASKS_PER_SECOND = 200


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


STAGES = (
    Stage("extract features of all images", IMAGES / IMAGES_PER_CORE_SECOND, IMAGES * BYTES_PER_IMAGE, IMAGES // 512),
    Stage(
        "statistics of the seen images (one pass)",
        2 * SEEN_IMAGES * FEATURES**2 / OPERATIONS_PER_CORE_SECOND,
        4 * SEEN_IMAGES * FEATURES,
        SEEN_IMAGES // (BLOCK_ROWS * BLOCKS_OF_A_TASK),
    ),
    Stage("AEZSL for 20,842 classes, one point", CLASSES / CLASSES_PER_CORE_SECOND, 0, CLASSES // 256),
    Stage(
        "rank all images among 20,842 classes", IMAGES / RANKED_PER_CORE_SECOND, 4 * IMAGES * FEATURES, IMAGES // 1024
    ),
)


def main():
    columns = ["stage", *(f"{n} workers" if n > 1 else "1 worker" for n in WORKERS), "workers at which it saturates"]
    print(f"| {' | '.join(columns)} |")
    print("|---|" + "---|" * (len(columns) - 1))
    totals = dict.fromkeys(WORKERS, 0.0)
    for stage in STAGES:
        cells = []
        for n in WORKERS:
            seconds, limit = stage.seconds(n)
            totals[n] += seconds
            cells.append(f"{seconds / 3600:,.2f} h" + ("" if limit == "cores" else f" ({limit})"))
        print(f"| {stage.name} | {' | '.join(cells)} | {stage.saturates_at():,} |")
    costs = [f"{totals[n] / 3600:,.1f} h, {n * totals[n] / 3600 * PRICE_PER_CORE_HOUR:,.1f} USD" for n in WORKERS]
    print(f"| together | {' | '.join(costs)} | |")


if __name__ == "__main__":
    main()
