"""What a busy core beside it costs: ``python -m tests.benchmarks.bench_beside_load [run]``.

Seconds by the clock of ESZSL's and AEZSL's grids of 49 and 343 points and of their fits, at CUB's size (CUB itself
where AEZSL_REFERENCE_DATA is set), alone and beside a process that keeps one core busy; and the ratio of the two. With
``run`` also those of ``kedro run --pipeline=aezsl_lr`` in this folder, which must have been run there before.
Nothing else should run on the machine, and OMP_NUM_THREADS should not be set.
"""

import multiprocessing
import subprocess
import sys
import time

from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.eszsl import ESZSL
from aezsl.selection import class_folds, cross_validate
from tests.benchmarks.bench_aezsl import cub


def keep_busy():
    while True:
        sum(range(10_000))


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def default_run():
    subprocess.run([sys.executable, "-m", "kedro", "run", "--pipeline=aezsl_lr"], check=True, capture_output=True)


def main(whole=""):
    X, y, S, targets, what = cub()
    folds = class_folds(len(S), len(targets))
    works = {
        "ESZSL, 49 points": lambda: cross_validate(ESZSL(), X, y, S, folds, ESZSL.grid),
        "ESZSL, fit": lambda: ESZSL().fit(X, y, S),
        "AEZSL, 343 points": lambda: cross_validate(AEZSL(), X, y, S, folds, AEZSL.grid),
        "AEZSL, fit and adapt": lambda: AEZSL().fit(X, y, S).adapt(targets),
    }
    if whole:
        works["kedro run"] = default_run
    print(f"{what}\n{'':>22} {'alone':>8} {'beside':>8} {'ratio':>6}")
    for name, work in works.items():
        work()
        alone = min(seconds(work) for _ in range(2))
        busy = multiprocessing.get_context("spawn").Process(target=keep_busy, daemon=True)
        busy.start()
        time.sleep(1)
        beside = min(seconds(work) for _ in range(2))
        busy.kill()
        busy.join()
        print(f"{name:>22} {alone:6.2f} s {beside:6.2f} s {beside / alone:5.1f}x", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
