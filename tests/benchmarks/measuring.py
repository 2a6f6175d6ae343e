"""Problems of a given size, and what a function costs."""

import time
import tracemalloc

import numpy as np

from aezsl.arrays import unit_rows


def measured(function):
    """What the function returns, its processor seconds, and the MiB that its arrays take at their peak."""
    tracemalloc.start()
    start = time.process_time()
    result = function()
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, seconds, peak / 2**20


def make_problem(n, m, d, a, n_seen, n_unseen, seed=0):
    """Unit vectors around class means that depend on the semantics, with the decaying spectrum of real features.

    Seen samples X, y, S; the unseen classes' semantics, m samples of theirs, and their labels.
    """
    rng = np.random.default_rng(seed)
    spectrum = 1 / np.sqrt(np.arange(1, d + 1))
    S = unit_rows(np.abs(rng.normal(size=(n_seen + n_unseen, a))))
    means = S @ rng.normal(size=(a, d)) * spectrum
    y, y_pool = np.arange(n) % n_seen, n_seen + np.arange(m) % n_unseen
    X, pool = (unit_rows(means[labels] + rng.normal(size=(len(labels), d)) * spectrum) for labels in (y, y_pool))
    return (X, y, S[:n_seen]), S[n_seen:], pool, y_pool - n_seen
