"""What work costs."""

import json
import subprocess
import sys
import time

import pytest

from aezsl.machine.provenance import Cost


def test_cost_is_of_what_happens_inside():
    with Cost("fit") as cost:
        time.sleep(0.05)
    assert 0.05 <= cost.measured["fit_seconds"] < 5


def test_memory_is_left_out_where_other_work_is_going_on(monkeypatch):
    monkeypatch.setattr(Cost, "measure_memory", False)
    with Cost("fit") as cost:
        pass
    assert list(cost.measured) == ["fit_seconds"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process restart the count of its largest size")
def test_memory_is_the_rise_inside_and_the_peak_of_the_process_is_not_forgotten():
    # In a process of its own: one that has worked long has free memory at hand, and need not grow.
    program = """
import json, numpy as np
from aezsl.machine.provenance import Cost, peak_memory_mb
large = np.ones(50_000_000)  # 381 MB, gone before the measured work begins
before = peak_memory_mb()
del large
with Cost("rank") as cost:
    np.ones(10_000_000)  # 76 MB
print(json.dumps([before, cost.measured["rank_memory_mb"], peak_memory_mb()]))
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    before, rise, after = json.loads(output)
    assert 70 < rise < 150
    assert after > before - 5  # the system counts pages a little late
