"""What a choice among normalisations costs: ``python -m tests.benchmarks.bench_selection``.

Selection on one fold at CUB's size, methods one after the other so that they share the decompositions of the fold, with
one normalisation and with the four of conf/base. Processor seconds on one thread.
"""

import argparse
import time

from threadpoolctl import threadpool_limits

from aezsl.data.once import Once
from aezsl.methods import make_method, method_class
from aezsl.selection.folds import class_folds
from aezsl.selection.search import cross_validate
from tests.benchmarks.measuring import make_problem

#: The alternatives of conf/base: all combinations of these.
FEATURES = (("sqrt", "centre", "l2"), ("l2",))
SEMANTICS = (("l2",), ("centre", "l2"))
WAYS = [{"features": features, "semantics": semantics} for features in FEATURES for semantics in SEMANTICS]


def costs(names, seen, folds, ways):
    """Processor seconds of every method's selection."""
    shared, seconds = Once(), []
    for name in names:
        start = time.process_time()
        cross_validate(make_method(name), *seen, folds, method_class(name).grid, ways, shared)
        seconds.append(time.process_time() - start)
    return seconds


def run(names, seen, n_unseen):
    """Print a line per method, and one of them all."""
    folds = class_folds(len(seen[2]), n_unseen, n_folds=1)
    one, four = (costs(names, seen, folds, ways) for ways in (WAYS[:1], WAYS))
    for name, alone, choice in [*zip(names, one, four, strict=True), ("all of them", sum(one), sum(four))]:
        print(f"  {name:22s} one way {alone:7.1f} s   four ways {choice:7.1f} s   {choice / alone:4.1f}x", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=["eszsl", "aezsl_sim", "aezsl", "aezsl_t", "exem"])
    for option, size in {"n": 8821, "d": 1280, "a": 312, "n_seen": 150, "n_unseen": 50}.items():
        parser.add_argument(f"--{option}", type=int, default=size)
    sizes = vars(parser.parse_args())
    only = sizes.pop("only")
    print("selection on one fold, " + ", ".join(f"{option}={size}" for option, size in sizes.items()))
    with threadpool_limits(1):
        run(only, make_problem(m=1, **sizes)[0], sizes["n_unseen"])
