"""What work costs."""

import sys
import time

import numpy as np
import pytest

from aezsl.provenance import Cost, peak_memory_mb


def test_cost_is_of_what_happens_inside():
    with Cost("fit") as cost:
        time.sleep(0.05)
    assert 0.05 <= cost.measured["fit_seconds"] < 5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process restart the count of its largest size")
def test_memory_is_the_rise_inside_and_the_peak_of_the_process_is_not_forgotten():
    large = np.ones(50_000_000)  # 381 MB, gone before the measured work begins
    before = peak_memory_mb()
    del large
    with Cost("rank") as cost:
        np.ones(10_000_000)  # 76 MB
    assert 70 < cost.measured["rank_memory_mb"] < 150
    assert peak_memory_mb() > before - 5  # the system counts pages a little late
