"""Closed forms selected, fitted and ranked from a mapped file of four times the memory: as if it were in memory."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.problem import Problem
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import METHODS, make_method
from aezsl.selection import (
    SelectionSettings,
    SelectionStore,
    class_folds,
    cross_validate,
    grid_points,
    select_parameters,
)
from tests.helpers.projects import environment
from tests.synthetic import make_synthetic

SETTINGS = {"rule": "random", "n_folds": 2, "seed": 0, "fraction": 0.3}
#: Every method that learns from statistics, or from these and a second pass over the samples; but for those that
#: compare images with texts and learn nothing of the seen.
FEW = {
    "adaptive_eszsl": {},
    "adaptive_ridge": {},
    "aezsl": {"lambda1": [0.1], "lambda2": [0.01, 1.0], "lambda3": [0.1, 10.0]},
    "aezsl_lr": {"gamma1": [1.0]},
    "aezsl_lr_balanced": {"gamma1": [1.0]},
    "aezsl_lr_one_step": {"gamma1": [1.0]},
    "aezsl_sim": {"lambda1": [0.1, 1.0], "lambda2": [0.1]},
    "aezsl_t": {},
    "eszsl": {"gamma": [0.01, 1.0], "lam": [0.1, 1.0]},
    "eszsl_lr": {"gamma1": [1.0]},
    "eszsl_t": {},
    "exem": {"tol": [1e-9]},  # coarser ones would show which way its iterations took
    "jeac": {"lam": [0.1]},
    "ridge": {},
    "rkt": {"gamma": [0.1]},
    "sms": {},
    "structured_prediction": {},
    "tzsar": {},
    "stata": {},
}


def test_every_method_of_statistics_is_here():
    streamed = ("statistics", "blocks")
    assert set(FEW) == {entry.name for entry in METHODS.values() if entry.needs in streamed and not entry.paired}


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
            chosen = select_parameters(
                "eszsl", problem, {}, FEW["eszsl"], SelectionSettings(**SETTINGS), store
            ).parameters
            states.append(make_method("eszsl", **chosen).fit(*seen[:3]).W_)
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])


#: One of each shape: a product, a coupled solve, scores with an offset, a pool, a second pass; others only sum up, too.
KINDS = ["eszsl", "aezsl", "ridge", "jeac", "exem"]
ROWS, WIDTH = 100_000, 320  # 122 MB of float32
SIZE = 4 * ROWS * WIDTH

RUN = """
import json, resource, sys
from pathlib import Path
import numpy as np, scipy.linalg
from aezsl.data.mapped_arrays import map_vectors
from aezsl.methods import METHODS, make_method
from aezsl.selection import cross_validate

folder, how, names = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
for name in names:
    METHODS[name].load()
def make(name):  # EXEM's default tolerance would show which way its iterations took
    return make_method(name, **({"tol": 1e-9} if name == "exem" else {}))
rng = np.random.default_rng(0)
y = np.sort(rng.integers(0, 18, 100_000))
y[:600] = np.arange(600) % 2 + 18   # the classes that play unseen: a pool is in memory
S, X = rng.random((30, 6)), map_vectors(Path(folder))
for eigh in (np.linalg.eigh, scipy.linalg.eigh):  # each has a BLAS of its own, which takes its room once
    eigh(np.eye(400))
for name in names:  # so do the libraries that a method calls
    make(name).fit(X[::49], y[::49], S[:20]).rank(X[::49], S[20:], 5)
if how == "mapped":
    held = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (held + X.nbytes // 4, held + X.nbytes // 4))
if how == "loaded":
    X = X.astype(np.float64)
for name in names:
    table = cross_validate(make(name), X, y, S[:20], [np.array([18, 19])], {})
    model = make(name).fit(X, y, S[:20])
    pool = X[:300].astype(np.float64)
    scores = model.adapt(S[20:], pool).scores(pool)
    print(json.dumps([name, table["mean"].tolist(), scores.tolist()]))
    if not METHODS[name].pool:
        assert len(model.rank(X, S[20:], 5).classes) == len(X)
"""


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("mapped"), np.random.default_rng(0)
    blocks = (rng.random((ROWS // 20, WIDTH), dtype=np.float32) for _ in range(20))
    MappedArrays(folder).write("X", (ROWS, WIDTH), blocks)
    return folder / "X.arrow"


def run(mapped, how, names):
    return subprocess.run(
        [sys.executable, "-c", RUN, str(mapped), how, ",".join(names)],
        capture_output=True,
        text=True,
        env=environment(OMP_NUM_THREADS="1", ARROW_NUM_THREADS="1"),
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are those of Linux")
def test_the_file_is_four_times_the_memory(mapped):
    lines = {}
    for how in ("mapped", "loaded"):
        found = run(mapped, how, KINDS)
        assert found.returncode == 0, found.stderr[-3000:]
        lines[how] = [json.loads(line) for line in found.stdout.splitlines()]
    assert [name for name, *_ in lines["mapped"]] == KINDS
    for (name, score, scores), (_, expected_score, expected) in zip(*lines.values(), strict=True):
        assert score == pytest.approx(expected_score, rel=1e-8), name
        tolerance = 1e-8 * np.abs(expected).max()
        np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are those of Linux")
def test_the_limit_is_one_that_a_copy_of_the_file_breaks(mapped):
    found = run(mapped, "mapped", ["conse"])
    assert found.returncode != 0
    assert "memory" in found.stderr.lower() or "alloc" in found.stderr.lower()
