"""Closed forms selected, fitted and ranked from a mapped file of four times the memory: as if it were in memory."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.problem import Problem
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import make_method
from aezsl.selection import SelectionStore, class_folds, cross_validate, grid_points, select_parameters
from tests.helpers.projects import environment
from tests.synthetic import make_synthetic

SETTINGS = {"rule": "random", "n_folds": 2, "seed": 0, "fraction": 0.3}
FEW = {
    "eszsl": {"gamma": [0.01, 1.0], "lam": [0.1, 1.0]},
    "aezsl": {"lambda1": [0.1], "lambda2": [0.01, 1.0], "lambda3": [0.1, 10.0]},
    "aezsl_sim": {"lambda1": [0.1, 1.0], "lambda2": [0.1]},
    "jeac": {"lam": [0.1]},
    "rkt": {"gamma": [0.1]},
}


@pytest.mark.parametrize("name", FEW)
def test_equals_the_result_from_memory(name, monkeypatch):
    monkeypatch.setattr("aezsl.data.statistics.BLOCK_ROWS", 17)
    monkeypatch.setattr("aezsl.selection.folds.BLOCK", 23)
    data = make_synthetic(d=20, per_class=9)
    single = data.X.astype(np.float32)
    folds = class_folds(len(data.S), len(data.S_new), **SETTINGS)
    method, grid = make_method(name), FEW[name]
    tables = [cross_validate(method, X, data.y, data.S, folds, grid) for X in (single, single.astype(np.float64))]
    pd.testing.assert_frame_equal(*tables, rtol=1e-8)
    point = grid_points(grid)[0]
    models = [make_method(name, **point).fit(X, data.y, data.S) for X in (single, single.astype(np.float64))]
    scores = [model.decision_function(data.X_new, data.S_new) for model in models]
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-8 * np.abs(scores[1]).max())


def test_any_number_of_workers_selects_and_learns_the_same_bits(monkeypatch, tmp_path):
    monkeypatch.setattr("aezsl.data.statistics.BLOCK_ROWS", 17)
    data = make_synthetic(d=20, per_class=9)
    states = []
    for n in (1, 2, 7):
        with working_on(Workers(n)):
            ids = [str(i) for i in range(len(data.X_new))]
            names = [str(i) for i in range(len(data.S) + len(data.S_new))]
            seen = data.X.astype(np.float32), data.y, data.S, names[: len(data.S)]
            problem = Problem("zsl", *seen, *data[3:], names[len(data.S) :], ids)
            store = SelectionStore(tmp_path / f"{n}.csv")
            chosen = select_parameters("eszsl", problem, {}, FEW["eszsl"], SETTINGS, store).parameters
            states.append(make_method("eszsl", **chosen).fit(*seen[:3]).W_)
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])


ROWS, WIDTH = 130_000, 512  # 266 MB of float32

RUN = """
import sys, threading, time
from pathlib import Path
import numpy as np
from aezsl.data.mapped_arrays import map_vectors
from aezsl.methods import make_method
from aezsl.selection import class_folds, cross_validate
import aezsl.methods.aezsl.aezsl, aezsl.methods.eszsl

def held():
    # Memory of the program's own, in MB: pages of a mapped file are the system's to drop.
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]) / 1024

start, peak = held(), 0.0

def watch():
    global peak
    while True:
        peak = max(peak, held() - start)
        time.sleep(0.002)

threading.Thread(target=watch, daemon=True).start()
X = map_vectors(Path(sys.argv[1]))
if sys.argv[2] == "loaded":
    X = X + np.float32(0)
y, S = np.arange(len(X)) % 20, np.random.default_rng(0).normal(size=(30, 6))
folds = class_folds(20, 10, n_folds=1, fraction=0.2)
grids = {"eszsl": {"gamma": [0.1, 1.0]}}
if sys.argv[2] == "mapped":
    grids |= {"aezsl": {"lambda3": [0.1, 1.0]}}
for name, values in grids.items():
    table = cross_validate(make_method(name), X, y, S[:20], folds, values)
    ranking = make_method(name).fit(X, y, S[:20]).rank(X, S[20:], 5)
    print(name, len(table), ranking.classes.shape[0])
print(peak)
"""


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("mapped"), np.random.default_rng(0)
    blocks = (rng.random((ROWS // 20, WIDTH), dtype=np.float32) for _ in range(20))
    MappedArrays(folder).write("X", (ROWS, WIDTH), blocks)
    return folder / "X.arrow"


def run(mapped, how):
    found = subprocess.run(
        [sys.executable, "-c", RUN, str(mapped), how],
        capture_output=True,
        text=True,
        env=environment(OMP_NUM_THREADS="1", ARROW_NUM_THREADS="1"),
    )
    assert found.returncode == 0, found.stderr[-3000:]
    *lines, peak = found.stdout.split()
    return lines, float(peak)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the system's own account of memory")
def test_the_file_is_four_times_the_memory(mapped):
    lines, peak = run(mapped, "mapped")
    assert lines == ["eszsl", "2", str(ROWS), "aezsl", "2", str(ROWS)]
    size = ROWS * WIDTH * 4 / 2**20
    assert peak < size / 4
    assert run(mapped, "loaded")[1] > size  # so the measure is one that tells
