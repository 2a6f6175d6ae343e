"""AEZSL in passes over blocks of targets: the same solution, in memory that does not grow with their number."""

import tracemalloc

import numpy as np
import pytest

from aezsl.machine.workers import Workers, working_on
from aezsl.methods.aezsl import aezsl, streamed
from aezsl.methods.aezsl.aezsl import AEZSL, AEZSLSim
from aezsl.methods.aezsl.streamed import (
    SharedProblem,
    Shifts,
    shared_sum,
    shifted_solutions,
    stream_targets,
    target_blocks,
)
from tests.oracles.aezsl import aezsl_dense
from tests.synthetic import make_synthetic

DATA = make_synthetic(n_unseen=40)
NARROW = 0.001  # megabytes: nothing fits


def fit(lambdas, data=DATA, **params):
    return AEZSL(*lambdas, **params).fit(*data[:3])


def assert_equal_to(actual, expected, tol):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize(
    "lambdas",
    [
        (1, 1, 1),
        (0.1, 0.1, 1e3),
        (1e-3, 1e-3, 1e3),
        (1e-3, 1e-3, 1e-3),
        (1e-3, 1e-3, 0),
        (0, 1, 1),
        (1, 0, 1),
        (1e3, 1e3, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("gamma", [0, 30])
@pytest.mark.parametrize("shape", [{}, {"d": 60, "per_class": 1}, {"a": 50}], ids=["full rank", "few samples", "wide"])
def test_equals_the_solver_that_keeps_all_targets(lambdas, gamma, shape):
    data = make_synthetic(n_unseen=40, **shape)
    params = {"tol": 1e-14, "gamma": gamma}
    kept, passes = (fit(lambdas, data, **params, memory_mb=mb).adapt(data.S_new) for mb in (2048, NARROW))
    assert_equal_to(passes.classifiers, kept.classifiers, 1e-8)
    assert_equal_to(passes.mappings()[7], kept.mappings()[7], 1e-8)


def test_equals_the_dense_system_of_all_mappings():
    data = make_synthetic(n_seen=7, n_unseen=3, per_class=4, d=6, a=4)
    classifier = fit((0.1, 0.2, 1e3), data, memory_mb=NARROW).adapt(data.S_new)
    expected = aezsl_dense(*data[:3], data.S_new, 0.1, 0.2, 1e3)
    assert_equal_to(np.array(list(classifier.mappings())), expected, 1e-8)


@pytest.mark.parametrize("r", [1, 2, 3, 30])
def test_shifted_systems_are_solved_from_the_tridiagonal_form(r):
    rng = np.random.default_rng(r)
    A, a, shifts = rng.normal(size=(20, r)), rng.normal(size=r), np.geomspace(1e-3, 1e6, 9)
    expected = np.column_stack([np.linalg.solve(A.T @ A + shift * np.eye(r), a) for shift in shifts])
    assert_equal_to(shifted_solutions(A.T @ A, a, shifts), expected, 1e-10)


def test_a_shift_below_the_rounding_of_its_matrix_is_refused():
    a = np.ones(3)
    with pytest.raises(np.linalg.LinAlgError):
        shifted_solutions(np.diag([1.0, 1.0, -1e-17]), a, np.array([1e-18]))


def test_independent_targets_need_the_second_pass_only(monkeypatch):
    monkeypatch.setattr(streamed, "shared_sum", None)
    few = AEZSLSim(0.1, 0.2, memory_mb=NARROW).fit(*DATA[:3]).adapt(DATA.S_new)
    assert few.solution is None
    assert_equal_to(few.classifiers, AEZSLSim(0.1, 0.2).fit(*DATA[:3]).classifiers(DATA.S_new), 1e-8)


def test_many_targets_are_streamed_though_they_would_fit(monkeypatch):
    monkeypatch.setattr(aezsl, "MANY_TARGETS", 40)
    monkeypatch.setattr(aezsl, "solve_targets", None)
    assert fit((0.1, 0.1, 1)).classifiers(DATA.S_new).shape == (DATA.X.shape[1], 40)


@pytest.mark.parametrize("lambda3", [0, 1])
def test_any_number_of_workers_gives_the_same_bits(lambda3):
    model = fit((0.1, 0.1, lambda3), memory_mb=NARROW)
    found = []
    for n in (1, 2, 7):
        with working_on(Workers(n)):
            found.append(model.classifiers(DATA.S_new))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_blocks_are_cut_by_the_number_of_targets_alone():
    assert [len(A) for A, _ in target_blocks(np.zeros((5, 2)), np.ones((5, 3)))] == [1] * 5
    assert [len(A) for A, _ in target_blocks(np.zeros((785, 2)), np.ones((785, 3)))] == [50] + [49] * 15
    sizes = [len(A) for A, _ in target_blocks(np.zeros((20_842, 2)), np.ones((20_842, 3)))]
    assert len(sizes) == 82
    assert max(sizes) <= streamed.BLOCK_TARGETS


def test_memory_does_not_grow_with_the_number_of_targets(monkeypatch):
    monkeypatch.setattr(streamed, "BLOCK_TARGETS", 8)
    monkeypatch.setattr(streamed, "MIN_BLOCKS", 1)
    model = fit((0.1, 0.1, 0.01))
    rng = np.random.default_rng(0)

    def peak(n):
        targets = rng.normal(size=(n, DATA.S.shape[1]))
        A = targets @ model.Q_
        tracemalloc.start()
        _, parts = stream_targets(model.reduced, model.similarity, A, targets, model.lambdas)
        n_seen = sum(part.shape[1] for part in parts)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert n_seen == n
        return used

    with working_on(Workers(1)):
        peak(16)  # the first call has tables to build
        assert peak(640) - peak(64) < 576 * 100  # bytes; a matrix per target would be ten times as many


@pytest.mark.parametrize("smallest", [1e-6, 1e-2, 1.0, 1e3])
def test_values_at_the_nodes_give_those_of_every_row(smallest):
    g = 3.0
    sigma = smallest * np.logspace(9, 0, 50)
    shifts = Shifts.for_rows(sigma, g)
    t = np.concatenate([[0.0], np.logspace(-9, np.log10(g), 200)])
    found = shifts.weights @ (1 / np.add.outer(shifts.nodes, t))
    expected = 1 / np.add.outer(sigma, t)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(shifts.nodes) < 100


def test_the_sum_is_that_of_the_mappings():
    model = fit((0.1, 0.1, 1.0))
    problem = SharedProblem.for_targets(model.reduced, model.similarity, model.lambdas, DATA.S_new)
    Z = shared_sum(target_blocks(DATA.S_new @ model.Q_, DATA.S_new), problem, show=False)
    assert_equal_to(model.U_ @ Z @ model.Q_.T, sum(model.adapt(DATA.S_new).mappings()), 1e-8)
