"""Speed and memory of AEZSL against the paper's Algorithm 1: ``python -m tests.benchmarks.bench_aezsl [part ...]``.

Parts: ``solvers`` (ratios to the literal oracle), ``growth``, ``grid`` (the 343 points of the paper), ``many`` (785
targets at once), ``workers`` (2,048 of ImageNet's by one worker and by two, by the clock: four minutes on two quiet
cores), ``whole`` (all 20,842 of them by two workers: half an hour). The first three run by default. CUB and ImageNet
where AEZSL_REFERENCE_DATA is set, else synthetic of their size. Seconds are processor time, so that other work on the
machine does not spoil the ratios: set OMP_NUM_THREADS=1.
"""

import os
import resource
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

from aezsl.data.normalise import fit_normaliser
from aezsl.machine.workers import Workers, working_on
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.aezsl.solver import solve_targets
from aezsl.methods.aezsl.streamed import SharedProblem, target_blocks
from aezsl.methods.core.seen import Targets
from aezsl.selection import class_folds, cross_validate
from tests.oracles.aezsl import algorithm1

#: Seconds after which a run of the literal algorithm is given up and its ratio printed as a lower bound.
PATIENCE = 60.0
#: Of ImageNet's classes.
VECTORS = "class_vectors_minilm.npz"


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


def imagenet(C=20_842, n_seen=1000):
    """AEZSL fitted on a sample of ImageNet's seen classes, semantics (C, a) of unseen ones, and which data they are of.

    Normalised as ``conf/imagenet`` has it, with the lambdas that its validation classes chose.
    """
    root = os.environ.get("AEZSL_REFERENCE_DATA")
    if root:
        folder = Path(root) / "imagenet"
        seen, unseen = ((folder / f"{name}.txt").read_text().split() for name in ("seen_1k", "unseen_all"))
        images, texts = (np.load(folder / name) for name in ("features/efficientnet_lite0.npz", VECTORS))
        vector = dict(zip(texts["wnid"], texts["vectors"].astype(np.float64), strict=True))
        of_seen, number = np.isin(images["wnid"], seen), {name: i for i, name in enumerate(seen)}
        y = np.array([number[name] for name in images["wnid"][of_seen]])
        _, X = fit_normaliser(["sqrt", "centre", "l2"], images["X"][of_seen].astype(np.float64))
        normaliser, S = fit_normaliser(["centre", "l2"], np.array([vector[name] for name in seen]))
        targets, what = normaliser(np.array([vector[name] for name in unseen[:C]])), "a sample of ImageNet"
    else:
        rng, what = np.random.default_rng(0), "synthetic data of ImageNet's size"
        X, y, _, _ = synthetic(n_seen, 1, 1280, 384, per_class=5)
        S, targets = normalised(rng.normal(size=(n_seen, 384))), normalised(rng.normal(size=(C, 384)))
    return AEZSL(0.01, 1, 0.01).fit(X, y, S), targets, what


def of_all_imagenet():
    """What every task of such a problem needs, and its blocks of targets."""
    model, targets, _ = imagenet()
    problem = SharedProblem.for_targets(model.reduced, model.similarity, model.lambdas, targets)
    return problem, target_blocks(targets @ model.Q_, targets)


def by_workers(n_targets=2048):
    """Some of 20,842 targets, tied as tightly as all of them would be, by one worker and by two."""
    model, targets, what = imagenet()
    times, found = [], []
    print(f"\n{n_targets} coupled targets of {what}: d=1280, a=384, Cs=1000")
    model.set_params(lambda3=model.lambda3 * len(targets) / n_targets)
    for n in (1, 2):
        with working_on(Workers(n)):
            start = time.perf_counter()
            found.append(model.adapt(targets[:n_targets]).classifiers)
        times.append(time.perf_counter() - start)
        ms = 1e3 * times[-1] / n_targets
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(
            f"workers: {n}, {times[-1]:.0f} s by the clock, {ms:.1f} ms a target, at most {peak:.0f} MB so far; "
            f"all {len(targets)} would take {ms * len(targets) / 6e4:.0f} min",
            flush=True,
        )
    equal = "same bits" if (found[0] == found[1]).all() else "OTHER BITS"
    print(f"two workers take {times[1] / times[0]:.2f} of the time of one, {equal}")


def whole_imagenet():
    """All 20,842 targets, every one solved, by two workers: alone (AEZSL_sim), then coupled."""
    model, targets, what = imagenet()
    for name, lambda3 in (("alone", 0.0), ("coupled", model.lambda3)):
        with working_on(Workers(2)):
            clock, start = time.perf_counter(), time.process_time()
            model.set_params(lambda3=lambda3).adapt(targets)
        minutes, cores = (time.perf_counter() - clock) / 60, (time.process_time() - start) / 60
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(
            f"\n{len(targets)} targets of {what}, {name}: {minutes:.1f} min by the clock, {cores:.1f} of cores, "
            f"at most {peak:.0f} MB so far",
            flush=True,
        )


PARTS = {
    "solvers": compare_solvers,
    "growth": growth,
    "grid": full_grid,
    "many": many_targets,
    "workers": by_workers,
    "whole": whole_imagenet,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or ["solvers", "growth", "grid"]:
        PARTS[part]()
