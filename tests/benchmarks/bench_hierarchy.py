"""Feasible sets of all classes for K = 20: ``python -m tests.benchmarks.bench_hierarchy``.

On WordNet and ImageNet's unseen classes where AEZSL_REFERENCE_DATA names them, else on a random hierarchy of that size.
"""

import os
import resource
import time
from pathlib import Path

import numpy as np

from aezsl.evaluation.hierarchy import HP_KS, Hierarchy, feasible_sets, hierarchical_precision
from aezsl.evaluation.ranking import Ranking
from tests.oracles import hierarchy as oracle

SAMPLE = 1000
N_IMAGES = 10_000


def load():
    if folder := os.environ.get("AEZSL_REFERENCE_DATA"):
        imagenet = Path(folder) / "imagenet"
        return (np.loadtxt(imagenet / f"{name}.txt", dtype=str) for name in ("wordnet.is_a", "unseen_all"))
    rng = np.random.default_rng(0)
    child = np.arange(1, 74_401)
    parent = (child * rng.random(len(child)) ** 2).astype(int)  # squared: some nodes have very many children
    edges = np.char.add("n", np.column_stack([parent, child]).astype(str))
    return edges, rng.choice(np.unique(edges), 20_842, replace=False)


def main():
    edges, candidates = load()
    start = time.perf_counter()
    graph = Hierarchy.from_edges(edges)
    feasible = feasible_sets(graph, candidates, max(HP_KS))
    fast = time.perf_counter() - start
    print(f"{len(graph.names)} nodes, {len(edges)} edges, {len(candidates)} classes, {len(feasible.outside)} outside")
    print(f"feasible sets of all classes, every K to {feasible.k}: {fast:.2f} s")
    megabytes = sum(a.nbytes for a in (feasible.indptr, feasible.classes, feasible.least_k)) / 1e6
    print(f"they take {megabytes:.1f} MB; peak memory of the process {peak_memory():.0f} MB")
    counts = np.diff(feasible.indptr)
    rows = np.repeat(np.arange(len(candidates)), counts)
    for k in HP_KS:
        sizes = np.bincount(rows, feasible.least_k <= k, len(candidates))
        print(f"  K = {k:2d}: {sizes.mean():6.1f} classes on average, {sizes.max():.0f} at most")

    rng = np.random.default_rng(0)
    sample = rng.choice(len(candidates), SAMPLE, replace=False)
    neighbours, names = oracle.neighbour_lists(edges), set(candidates)
    start = time.perf_counter()
    for y in sample:
        oracle.feasible_set(neighbours, names, candidates[y], feasible.k)
    slow = (time.perf_counter() - start) / SAMPLE * len(candidates)
    print(
        f"class by class with Python sets, from {SAMPLE} classes: {slow:.0f} s for all, {slow / fast:.1f} times as long"
    )

    true = rng.integers(0, len(candidates), N_IMAGES)
    ranking = Ranking(rng.integers(0, len(candidates), (N_IMAGES, 20)), np.zeros((N_IMAGES, 20)))
    start = time.perf_counter()
    for k in HP_KS:
        hierarchical_precision(true, ranking, feasible, k)
    print(f"hP@{{{','.join(map(str, HP_KS))}}} of {N_IMAGES} images: {time.perf_counter() - start:.2f} s")


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
