"""Label refinement against the literal Algorithm 2, and its memory: ``python -m tests.benchmarks.bench_refinement``.

Speed is a ratio of CPU seconds, on the same pool, with the same labels, so that other work on the machine does not
count; memory is the peak of all arrays.
"""

import argparse
import time
import tracemalloc

import numpy as np

from aezsl.methods.refinement.label_refinement import LabelRefinement
from tests.oracles import refinement as oracle

PARAMS = {"gamma1": 1.0, "gamma2": 0.01, "gamma3": 0.1, "nu": 1e-2, "n_neighbors": 10}


def make_pool(n, d, n_classes, seed=0):
    """Unit vectors around class means, with the decaying spectrum of real features, and blurred classifiers."""
    rng = np.random.default_rng(seed)
    spectrum = 1 / np.sqrt(np.arange(1, d + 1))
    means = rng.normal(size=(n_classes, d)) * spectrum
    y = rng.integers(0, n_classes, n)
    X = means[y] + 0.9 * rng.normal(size=(n, d)) * spectrum
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    P = (means + 0.8 * rng.normal(size=(n_classes, d)) * spectrum).T / d
    return X, P, rng.uniform(size=(n_classes, 64)), y


def timed(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def speed(n, d, n_classes, k):
    X, P, S, y = make_pool(n, d, n_classes)
    refinement = LabelRefinement(k=k, centre=False, **PARAMS)
    fast, fast_seconds = timed(lambda: refinement.refine(X, P, S))
    (labels, P_literal, _), literal_seconds = timed(lambda: oracle.refine(X, P, S, k=k, **PARAMS))
    _, cut_seconds = timed(lambda: refinement.set_params(n_components=256).refine(X, P, S))
    history = fast.history.table(y)
    first, last = history.iloc[0], history.iloc[-1]
    print(f"n={n} d={d} C={n_classes} k={k}: {len(history)} rounds, ", end="")
    print(f"{history['iterations'].sum()} re-weightings, accuracy {first.accuracy:.3f} -> {last.accuracy:.3f}")
    print(f"  literal Algorithm 2   {literal_seconds:8.2f} s")
    print(f"  LabelRefinement       {fast_seconds:8.2f} s   {literal_seconds / fast_seconds:6.1f}x")
    print(f"  with n_components=256 {cut_seconds:8.2f} s   {literal_seconds / cut_seconds:6.1f}x (another problem)")
    print(f"  labels that differ: {np.sum(fast.labels != labels)} of {n}, ", end="")
    print(f"largest relative difference of P: {np.abs(fast.P - P_literal).max() / np.abs(P_literal).max():.1e}")


def memory(sizes, d, n_classes, rounds):
    print(f"peak memory at d={d}, C={n_classes}")
    for n in sizes:
        X, P, S, _ = make_pool(n, d, n_classes)
        tracemalloc.start()
        _, seconds = timed(lambda: LabelRefinement(k=-(-n // rounds), inner_iter=2, **PARAMS).refine(X, P, S))  # noqa: B023
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        beyond = peak - 5 * d * d * 8  # X'X, its eigenvectors, the system, its constant part and its factor
        print(
            f"  n={n:6d}: {peak / 2**20:7.0f} MiB, {beyond / (n * d * 8):.2f} x the pool beside five d x d matrices, ",
            end="",
        )
        print(f"a dense n x n would be {n * n * 8 / 2**20:6.0f} MiB ({seconds:.1f} s)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--d", type=int, default=1280)
    parser.add_argument("--classes", type=int, default=50)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--memory", type=int, nargs="*", default=[5000, 10000])
    arguments = parser.parse_args()
    speed(arguments.n, arguments.d, arguments.classes, arguments.k)
    memory(arguments.memory, arguments.d, arguments.classes, rounds=4)
