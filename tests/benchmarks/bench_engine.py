"""What a Dask cluster adds to the built-in map on the same work: ``python -m tests.benchmarks.bench_engine [seconds]``.

The tasks are eigen-decompositions of one shared matrix, cut so that a task takes 0.1 s, 1 s or 3 s, some seconds of
work in all (12 unless given); one worker against one thread of this process, so that nothing but the engine differs.
Starting the cluster is not counted.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from aezsl.cluster import ClusterWorkers, connected
from aezsl.machine.workers import Workers, working_on

SIZE = 400


def decompose(seed, matrix, repeats):
    rng = np.random.default_rng(seed)
    values = [np.linalg.eigvalsh(matrix + np.diag(rng.normal(size=len(matrix)))) for _ in range(repeats)]
    return np.sum(values, axis=0)


def total(there, n_tasks, matrix, repeats):
    start = time.perf_counter()
    result = sum(there.map(decompose, range(n_tasks), matrix, repeats))
    return time.perf_counter() - start, result


def seconds_of_one(matrix):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        with working_on(Workers()):
            list(Workers().map(decompose, [0], matrix, 1))
        times.append(time.perf_counter() - start)
    return min(times)


def main(seconds_of_work=12.0):
    A = np.random.default_rng(0).normal(size=(SIZE, SIZE))
    matrix = A + A.T
    one = seconds_of_one(matrix)
    with tempfile.TemporaryDirectory() as folder, connected(1, "auto", False) as client:
        there = ClusterWorkers(1, folder=Path(folder))
        client.submit(total, there, 1, matrix, 1).result()  # imports
        for seconds in (0.1, 1.0, 3.0):
            repeats = max(1, round(seconds / one))
            n_tasks = round(seconds_of_work / seconds)
            here, expected = total(Workers(), n_tasks, matrix, repeats)
            on_dask, found = client.submit(total, there, n_tasks, matrix, repeats).result()
            equal = "same bits" if (found == expected).all() else "OTHER BITS"
            print(
                f"{n_tasks:3d} tasks of {here / n_tasks:.2f} s: built-in map {here:.1f} s, Dask {on_dask:.1f} s, "
                f"{100 * (on_dask / here - 1):+.0f} %, {equal}"
            )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
