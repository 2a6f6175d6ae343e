"""Balanced propagation on large pools, and beside AEZSL's own adapt: ``python -m tests.benchmarks.bench_propagation``.

Seconds are of the processor, memory is the peak of all arrays beside the pool. Recall is against exact search for a
sample of rows.
"""

import argparse
import time

import numpy as np

from aezsl.methods import make_method
from aezsl.methods.propagation.balanced import Objective, Weights, propagate
from aezsl.methods.propagation.neighbours import EXACT_UP_TO, _among_all, cell_neighbours, neighbour_graph
from tests.benchmarks.measuring import measured

WEIGHTS = Weights(start=1.0, graph=8.0, classes=20.0, prototypes=5.0, balance=0.7)


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def make_pool(m, d, n_classes, seed=0):
    """Unit rows with the decaying spectrum of real features (float32), scores of blurred means, and the means."""
    rng = np.random.default_rng(seed)
    spectrum = (1 / np.sqrt(np.arange(1, d + 1))).astype(np.float32)
    means = rng.standard_normal((n_classes, d), dtype=np.float32) * spectrum
    y = rng.integers(0, n_classes, m)
    X = rng.standard_normal((m, d), dtype=np.float32)
    X *= spectrum
    X += means[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    blurred = unit(means + spectrum * rng.standard_normal(means.shape, dtype=np.float32)).astype(np.float64)
    F = (X @ blurred.T.astype(np.float32)).astype(np.float64)
    return X, (F - F.mean(axis=0)) / F.std(axis=0), blurred, y


def recall(X, k=10, sample=500):
    """The share of the exact neighbours of some rows that the search in cells finds."""
    some = np.random.default_rng(1).choice(len(X), min(sample, len(X)), replace=False)
    exact, found = _among_all(X, some, k)[0], cell_neighbours(X, k)[0][some]
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(exact, found, strict=True)])


def flat(m, d, seed=0):
    """Unit rows without any structure: the hardest case for a search that looks into some cells only."""
    return unit(np.random.default_rng(seed).standard_normal((m, d), dtype=np.float32))


def large(m, d, n_classes):
    """Seconds and MiB of graph and rounds together for a pool of m rows."""
    X, G, prototypes, y = make_pool(m, d, n_classes)
    graph, graph_seconds, graph_peak = measured(lambda: neighbour_graph(X, 10))
    objective = Objective(G, graph, np.full(n_classes, 1 / n_classes), WEIGHTS, X, prototypes)
    found, seconds, peak = measured(lambda: propagate(objective))
    rounds = len(found.rounds)
    before, after = (np.mean(labels == y) for labels in (G.argmax(axis=1), found.R.argmax(axis=1)))
    search = "cells" if m > EXACT_UP_TO else "exact"
    print(
        f"m={m} d={d} C={n_classes}: accuracy {before:.3f} -> {after:.3f}; recall of the 10 nearest in cells ", end=""
    )
    print(f"{recall(X):.3f}, of flat noise {recall(flat(m, d)):.3f}")
    print(f"  graph  {graph_seconds:8.1f} s {graph_peak:8.0f} MiB beside a pool of {X.nbytes / 2**20:.0f} ({search})")
    print(f"  rounds {seconds:8.1f} s {peak:8.0f} MiB, {rounds} of them, {seconds / rounds:.2f} s each", flush=True)
    return graph_seconds, seconds / rounds, max(graph_peak, peak)


def extrapolate(sizes, costs, to=1_000_000, rounds=20):
    """By the power of m that the last two sizes show."""
    values = []
    for first, last in zip(*costs[-2:], strict=True):
        power = np.log(last / first) / np.log(sizes[-1] / sizes[-2])
        values.append((last * (to / sizes[-1]) ** power, power))
    (graph, p), (per_round, q), (peak, r) = values
    print(f"extrapolated to m={to}: graph {graph:.0f} s (m^{p:.2f}), a round {per_round:.1f} s (m^{q:.2f}), ", end="")
    print(f"{rounds} rounds and graph {graph + rounds * per_round:.0f} s; {peak / 1024:.1f} GiB (m^{r:.2f})")


def beside_aezsl(n=8821, m=2967, d=1280, a=312, n_seen=150, n_unseen=50):
    """The sizes of CUB: what propagation adds to AEZSL's own adapt."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(n_seen + n_unseen, a))
    means = S @ rng.normal(size=(a, d)) / np.sqrt(a)
    y, y_pool = rng.integers(0, n_seen, n), rng.integers(n_seen, n_seen + n_unseen, m)
    X, pool = (unit(means[labels] + 2 * rng.normal(size=(len(labels), d))) for labels in (y, y_pool))
    seconds = {}
    for name in ("aezsl", "aezsl_t"):
        model = make_method(name).fit(X, y, S[:n_seen])
        start = time.process_time()
        model.adapt(S[n_seen:], pool if name == "aezsl_t" else None)
        seconds[name] = time.process_time() - start
    ratio = seconds["aezsl_t"] / seconds["aezsl"]
    print(
        f"a pool of {m}: AEZSL adapts in {seconds['aezsl']:.2f} s, AEZSL_T in {seconds['aezsl_t']:.2f} s, {ratio:.1f}x"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[3_000, 10_000, 30_000, 100_000])
    parser.add_argument("--d", type=int, default=256)
    parser.add_argument("--classes", type=int, default=200)
    arguments = parser.parse_args()
    beside_aezsl()
    costs = [large(m, arguments.d, arguments.classes) for m in arguments.sizes]
    if len(costs) > 1:
        extrapolate(arguments.sizes, costs)
