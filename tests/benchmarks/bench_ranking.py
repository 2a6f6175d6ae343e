"""Ranking against a bare product of the same size in one run: ``python -m tests.benchmarks.bench_ranking [images]``.

The 20 best of 20,842 classes, d = 1280: seconds by the clock, how much of the bare product's speed is reached, and the
memory beside features and classifiers. The product is in single precision on all threads, block by block, its scores
thrown away; classifiers come in single and in double precision.
"""

import sys
import time
import tracemalloc

import numpy as np

from aezsl.evaluation.ranking import top_k_products

N_CLASSES, WIDTH, BLOCK = 20_842, 1280, 2048


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_product(X, P):
    out = np.empty((BLOCK, P.shape[1]), dtype=np.float32)
    for i in range(0, len(X), BLOCK):
        np.matmul(X[i : i + BLOCK], P, out=out[: len(X[i : i + BLOCK])])


def main(n_images=10_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_images, WIDTH)).astype(np.float32)
    P = rng.normal(size=(WIDTH, N_CLASSES)).astype(np.float32)
    bare_product(X[:BLOCK], P)
    bare = min(seconds(lambda: bare_product(X, P)) for _ in range(2))
    print(f"{n_images} images: bare product {bare:.1f} s")
    for classifiers in (P, P.astype(np.float64)):
        taken = seconds(lambda: top_k_products(X, classifiers, 20))  # noqa: B023
        tracemalloc.start()
        top_k_products(X[: 3 * BLOCK], classifiers, 20)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        share = 100 * bare / taken
        print(f"top 20, classifiers {classifiers.dtype}: {taken:.1f} s, {share:.0f}% of its speed, {peak:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
