"""Speed and memory of AEZSL against the paper's Algorithm 1: ``python -m tests.benchmarks.bench_aezsl [part ...]``.

Parts: ``solvers`` (ratios to the literal oracle), ``growth``, ``grid`` (the 343 points of the paper), ``many`` (785
targets at once), ``all`` (20,842, extrapolated from some; by the clock), ``whole`` (every one of these, by two workers:
half an hour). The first three run by default. CUB where AEZSL_REFERENCE_DATA is set, else synthetic of its size.
Seconds are processor time, so that other work on the machine does not spoil the ratios: set OMP_NUM_THREADS=1.
"""

import os
import resource
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

from aezsl.machine.workers import Workers, working_on
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.aezsl.solver import solve_targets
from aezsl.methods.aezsl.streamed import SharedProblem, block_classifiers, sum_right_sides, target_blocks
from aezsl.methods.targets import Targets
from aezsl.selection import class_folds, cross_validate
from tests.oracles.aezsl import algorithm1

#: Seconds after which a run of the literal algorithm is given up and its ratio printed as a lower bound.
PATIENCE = 60.0


def normalised(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def synthetic(n_seen=150, n_targets=50, d=1280, a=312, per_class=47, seed=0):
    """X, y, S, S_target: class means linear in nonnegative semantics, noise with a decaying spectrum."""
    rng = np.random.default_rng(seed)
    S = normalised(rng.uniform(0, 1, (n_seen + n_targets, a)) ** 2)
    y = np.repeat(np.arange(n_seen), per_class)
    noise = rng.normal(size=(len(y), d)) / np.sqrt(1 + np.arange(d))
    X = S[y] @ rng.normal(size=(a, d)) / np.sqrt(a) + noise
    return normalised(X), y, S[:n_seen], S[n_seen:]


def cub():
    """X, y, S, S_target of CUB's proposed split, or synthetic data of its size; and which of the two."""
    root = os.environ.get("AEZSL_REFERENCE_DATA")
    if not root:
        return *synthetic(), "synthetic data of CUB's size"
    folder = Path(root) / "cub"
    X = normalised(np.load(folder / "features" / "efficientnet_lite0.npz")["X"].astype(np.float64))
    y = np.loadtxt(folder / "CUB_200_2011" / "image_class_labels.txt", dtype=int)[:, 1] - 1
    S = normalised(np.loadtxt(folder / "CUB_200_2011" / "attributes" / "class_attribute_labels_continuous.txt"))
    names = [line.split()[1] for line in (folder / "CUB_200_2011" / "classes.txt").read_text().splitlines()]
    seen = ~np.isin(names, (folder / "unseen_proposed_split.txt").read_text().split())
    rows = seen[y]
    return X[rows], (np.cumsum(seen) - 1)[y[rows]], S[seen], S[~seen], "CUB, proposed split"


def timed(work, *args, **params):
    start = time.process_time()
    result = work(*args, **params)
    return result, time.process_time() - start


def peak_mb(work, *args, **params):
    """Most memory held at once by arrays that ``work`` made, and its seconds."""
    tracemalloc.start()
    _, seconds = timed(work, *args, **params)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20, seconds


def compare_solvers():
    X, y, S, targets, what = cub()
    d, a, C = X.shape[1], S.shape[1], len(targets)
    print(f"\nDirect solver against literal Algorithm 1, to the optimal objective times (1 + 1e-6)\n{what}: ", end="")
    print(f"d={d}, a={a}, Cs={len(S)}, Ct={C}")
    print(f"{'lambdas':>24} {'direct s':>9} {'+ all W_c':>9} {'literal s':>10} {'sweeps':>7} {'ratio':>8}")
    lambdas = [(0.1, 1, 0), (0.1, 1, 1e-3), (0.1, 1, 1), (0.1, 0.1, 10), (0.01, 1, 100), (0.1, 0.1, 1e3), (10, 10, 1e3)]
    for point in lambdas:
        classifier, seconds = timed(direct, X, y, S, targets, point)
        _, building = timed(lambda: sum(W[0, 0] for W in classifier.mappings()))  # noqa: B023
        goal = classifier.objective()["total"] * (1 + 1e-6)
        stop = Patience(goal)
        (_, trace), literal = timed(algorithm1, X, y, S, targets, *point, stop)
        ratio = f"{'' if trace[-1] <= goal else '>'}{literal / seconds:.1f}x"
        times = f"{seconds:9.2f} {building:9.2f} {literal:10.1f}"
        print(f"{point!s:>24} {times} {len(trace):7} {ratio:>8}", flush=True)
    direct_mb, _ = peak_mb(direct, X, y, S, targets, (0.1, 1, 1))
    literal_mb, _ = peak_mb(algorithm1, X, y, S, targets, 0.1, 1, 1, lambda _: True)
    reduced = 8 * C * d * min(a, len(S)) / 2**20
    print(f"peak memory: direct {direct_mb:.0f} MB, literal {literal_mb:.0f} MB (Ct x d x r is {reduced:.0f} MB)")


class Patience:
    """Stop when the goal is reached, or too late."""

    def __init__(self, goal):
        self.goal, self.deadline = goal, time.process_time() + PATIENCE

    def __call__(self, objective):
        return objective <= self.goal or time.process_time() > self.deadline


def direct(X, y, S, targets, point, **params):
    return AEZSL(*point, **params).fit(X, y, S).adapt(targets)


def growth():
    print("\nGrowth from d=640, a=312, Cs=150, Ct=50, lambdas 0.1, 0.1, 100 (seconds; MB held at most)")
    print(f"{'':>14} {'fit':>7} {'solve':>7} {'peak MB':>8}")
    base = {"d": 640, "a": 312, "n_targets": 50}
    for name, values in {"n_targets": (25, 50, 100, 200), "d": (320, 640, 1280), "a": (75, 312, 1000, 4013)}.items():
        for value in values:
            X, y, S, targets = synthetic(**{**base, name: value})
            model, fitting = timed(AEZSL(0.1, 0.1, 100).fit, X, y, S)
            peak, solving = peak_mb(model.classifiers, targets)
            print(f"{name:>9} {value:4} {fitting:7.2f} {solving:7.2f} {peak:8.0f}", flush=True)


def full_grid():
    X, y, S, targets, what = cub()
    for rule in ("first", "random"):
        folds = class_folds(len(S), len(targets), rule)
        start = time.perf_counter()
        table, seconds = timed(cross_validate, AEZSL(), X, y, S, folds, AEZSL.grid)
        wall = time.perf_counter() - start
        print(
            f"\n{len(table)} points x {len(folds)} folds ({rule}) on {what}: {seconds:.0f} s, {wall:.0f} s by the clock"
        )


def many_targets():
    """What is kept (eigenvectors of all targets, conjugate gradients) against two passes that keep nothing."""
    print("\n785 coupled targets: d=1280, a=384, Cs=628, lambdas 0.1, 0.1, 10")
    X, y, S, unseen = synthetic(628, 157, 1280, 384, per_class=5)
    targets = Targets(np.vstack([S, unseen]))
    model = AEZSL(0.1, 0.1, 10, memory_mb=1500).fit(X, y, S)
    streamed, seconds = timed(model.adapt_to, targets)
    print(f"streamed: {seconds:.0f} s", flush=True)
    spectra, decomposing = timed(model._spectra, targets)
    (_, P), solving = timed(solve_targets, model.reduced, spectra, model.lambdas, *model._limits)
    difference = np.abs(model.U_ @ P - streamed.classifiers).max() / np.abs(streamed.classifiers).max()
    print(f"kept: {decomposing:.0f} s to decompose, {solving:.0f} s to solve: {(decomposing + solving) / seconds:.1f}x")
    print(f"largest difference between the two, of the largest value: {difference:.1e}")


def imagenet_like(C=20_842, n_seen=1000):
    """AEZSL fitted at the size of ImageNet's seen classes, and unseen ones (C, a), which point in all directions."""
    rng = np.random.default_rng(0)
    X, y, _, _ = synthetic(n_seen, 1, 1280, 384, per_class=5)
    S, targets = normalised(rng.normal(size=(n_seen, 384))), normalised(rng.normal(size=(C, 384)))
    return AEZSL(0.1, 1, 0.01).fit(X, y, S), targets


def of_all_imagenet():
    """What every task of such a problem needs, and its blocks of targets."""
    model, targets = imagenet_like()
    A, lengths = targets @ model.Q_, np.linalg.norm(targets, axis=1)
    problem = SharedProblem.for_targets(model.reduced, model.similarity(model.reduced.S), model.lambdas, A, lengths)
    return problem, target_blocks(A, lengths)


def all_targets(n_blocks=4):
    """The two passes over some blocks of 20,842 targets, on one worker and on two; the whole by extrapolation."""
    problem, blocks = of_all_imagenet()
    C = problem.n_targets
    print(f"\n{C} coupled targets: d=1280, a=384, Cs=1000, lambdas 0.1, 1, 0.01; from {n_blocks} blocks of them")
    blocks = [(a[:50], length[:50]) for a, length in blocks[:n_blocks]]
    n = sum(len(a) for a, _ in blocks)
    Z = np.zeros((len(problem.seen.l), problem.seen.S.shape[1]))
    print(f"{len(problem.shifts.nodes)} nodes")
    print(f"{'workers':>18} {'first pass':>11} {'second':>7} {'coupled':>9} {'alone':>8}")
    for workers in (1, 2):
        times = []
        for task, shared in ((sum_right_sides, (problem,)), (block_classifiers, (problem, Z))):
            start = time.perf_counter()
            for _ in Workers(workers).map(task, blocks, *shared):
                pass
            times.append((time.perf_counter() - start) / n)
        both, last = (seconds * C / 60 for seconds in (sum(times), times[1]))
        ms = f"{1e3 * times[0]:8.0f} ms {1e3 * times[1]:4.0f} ms"
        print(f"{workers:>18} {ms} {both:5.1f} min {last:4.1f} min", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"most memory of the process: {peak:.0f} MB, and 8 d C = {8 * 1280 * C / 2**20:.0f} MB for the classifiers")


def whole_imagenet():
    """All 20,842 targets, every one solved, by two workers: alone (AEZSL_sim), then coupled."""
    model, targets = imagenet_like()
    for name, lambda3 in (("alone", 0.0), ("coupled", 0.01)):
        with working_on(Workers(2)):
            clock, start = time.perf_counter(), time.process_time()
            model.set_params(lambda3=lambda3).adapt(targets)
        minutes, cores = (time.perf_counter() - clock) / 60, (time.process_time() - start) / 60
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(
            f"\n{len(targets)} targets, {name}: {minutes:.1f} min by the clock, {cores:.1f} of cores, "
            f"at most {peak:.0f} MB so far",
            flush=True,
        )


PARTS = {
    "solvers": compare_solvers,
    "growth": growth,
    "grid": full_grid,
    "many": many_targets,
    "all": all_targets,
    "whole": whole_imagenet,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or ["solvers", "growth", "grid"]:
        PARTS[part]()
