"""Every method with a pool at CUB's size, beside ESZSL: ``python -m tests.benchmarks.bench_transductive``.

Fit and adapt at default parameters. Seconds are of the processor on one thread, so that other work on the machine does
not count; memory is the peak of all arrays beside samples and pool. A matrix of all pairs of seen samples would take
594 MiB, one of the pool's samples 67 MiB.
"""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

from aezsl.methods import METHODS, make_method
from tests.benchmarks.measuring import make_problem, measured

#: Processor seconds that a method may take, 30 where nothing else is said.
ALLOWED = {"lrl": 120, "max_margin": 120}


def cost(name, seen, S, pool, true):
    """Accuracy, seconds and MiB of fit and adapt."""
    classifier, seconds, peak = measured(lambda: make_method(name).fit(*seen).adapt(S, pool))
    return float(np.mean(classifier.predict(pool) == true)), seconds, peak


def run(names, *problem):
    """Print a line per method; those that take longer than they may are marked."""
    accuracy, base_seconds, base_peak = cost("eszsl", *problem)
    print(f"  {'eszsl':22s} {base_seconds:7.1f} s          {base_peak:6.0f} MiB          accuracy {accuracy:.3f}")
    for name in names:
        accuracy, seconds, peak = cost(name, *problem)
        times, much = seconds / base_seconds, peak / base_peak
        late = "  TOO SLOW" if seconds > ALLOWED.get(name, 30) else ""
        print(f"  {name:22s} {seconds:7.1f} s {times:6.1f}x  {peak:6.0f} MiB {much:6.1f}x  ", end="")
        print(f"accuracy {accuracy:.3f}{late}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="these methods")
    for option, size in {"n": 8821, "m": 2967, "d": 1280, "a": 312, "n_seen": 150, "n_unseen": 50}.items():
        parser.add_argument(f"--{option}", type=int, default=size)
    sizes = vars(parser.parse_args())
    only = sizes.pop("only")
    transductive = [name for name, entry in METHODS.items() if entry.pool and not entry.paired]
    print("fit and adapt, " + ", ".join(f"{option}={size}" for option, size in sizes.items()))
    with threadpool_limits(1):
        run(only or transductive, *make_problem(**sizes))
