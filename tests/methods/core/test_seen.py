"""Seen data on several threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from aezsl.data.statistics import SeenStatistics
from aezsl.methods.core.seen import SeenData
from tests.synthetic import make_synthetic


def test_sums_of_one_problem_do_not_wait_for_those_of_another(monkeypatch):
    """A node of a cluster waits in the middle of its sums, while its worker computes those of another node."""
    data = make_synthetic()
    original, both = SeenStatistics.from_samples, Barrier(2, timeout=30)  # one after the other, they would wait in vain

    def together(*args):
        both.wait()
        return original(*args)

    monkeypatch.setattr(SeenStatistics, "from_samples", together)
    seen = [SeenData(data.X, data.y, data.S) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one: one.statistics, seen))
    np.testing.assert_array_equal(*(one.sums for one in found), strict=True)
    assert seen[0].statistics is found[0]  # computed once
