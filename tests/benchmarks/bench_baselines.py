"""Every method's fit, and SSE's weights against the literal ones: ``python -m tests.benchmarks.bench_baselines``.

Seconds are of the processor on one thread, so that other work on the machine does not count; memory is the peak of
all arrays beside the samples.
"""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

from aezsl.methods import METHODS, make_method
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.simplex import simplex_mixtures
from aezsl.methods.sse import class_intersections, margin_weights
from tests.benchmarks.measuring import make_problem, measured
from tests.oracles.sse import sse_objective, sse_pair_rows, sse_weights


def fits(n, d, n_classes, a):
    """Seconds and memory of fitting each method that is trained in one go, at its default parameters."""
    data = make_problem(n, 0, d, a, n_classes, 0)[0]
    print(f"fit of {n} x {d} samples, {n_classes} classes, {a} semantic dimensions")
    for name, entry in METHODS.items():
        if not (entry.pool or entry.epochs or entry.paired):
            _, seconds, peak = measured(lambda: make_method(name).fit(*data))  # noqa: B023
            print(f"  {name:10s} {seconds:7.1f} s {peak:7.0f} MiB", flush=True)


def sse(n, d, sizes, lam):
    """Newton's method on sums over pairs against a general optimiser on the matrix of all pairs, to one objective."""
    for n_classes in sizes:
        X, y, S = make_problem(n, 0, d, 64, n_classes, 0)[0]
        _, M = class_intersections(SeenData(X, y, S))
        psi, wanted = simplex_mixtures(S, S, 0.1), np.maximum(1 - S @ S.T, 0)
        w, seconds, peak = measured(lambda: margin_weights(M, psi, wanted, lam))  # noqa: B023
        (D, (literal, steps)), literal_seconds, literal_peak = measured(
            lambda: (D := sse_pair_rows(M, psi), sse_weights(D, wanted, lam, tol=1e-9))  # noqa: B023
        )
        value, other = (sse_objective(v, D, wanted, lam)[0] for v in (w, literal))
        print(f"SSE's weights, {n_classes} classes, d={d}, lam={lam}: objective {value:.4f}, literal {other:.4f}")
        print(f"  literal, {steps:5d} steps {literal_seconds:8.2f} s {literal_peak:7.0f} MiB")
        print(f"  Newton              {seconds:8.2f} s {peak:7.0f} MiB   {literal_seconds / seconds:5.1f}x", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["fits", "sse"], help="one of the two parts")
    parser.add_argument("--n", type=int, default=7057)
    parser.add_argument("--d", type=int, default=1280)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--a", type=int, default=312)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.only != "fits":
            sse(arguments.n, arguments.d, (50, 150, 300), lam=100.0)
        if arguments.only != "sse":
            fits(arguments.n, arguments.d, arguments.classes, arguments.a)
