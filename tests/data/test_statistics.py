"""Statistics of samples: they add up, whatever the blocks, and say what closed forms need."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aezsl.data import statistics
from aezsl.data.mapped_arrays import MappedArrays, Rows
from aezsl.data.statistics import SeenStatistics, class_squares
from aezsl.errors import AezslError, DataError
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import make_method
from tests.synthetic import make_synthetic


def samples(n, d=6, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(n_classes, size=n)


def assert_same(one, other, tol=1e-12):
    np.testing.assert_allclose(one.second_moment, other.second_moment, atol=tol)
    np.testing.assert_allclose(one.sums, other.sums, atol=tol)
    np.testing.assert_array_equal(one.counts, other.counts)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(0, 40), max_size=5))
def test_any_division_into_blocks_gives_the_same(n, cuts):
    X, y = samples(n)
    ends = sorted({0, n, *(min(cut, n) for cut in cuts)})
    blocks = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(ends)]
    whole = SeenStatistics.from_samples(X, y, 4)
    assert_same(SeenStatistics.from_blocks(blocks, 4), whole)
    np.testing.assert_allclose(whole.second_moment, X.T @ X, atol=1e-12)
    np.testing.assert_allclose(whole.sums, np.eye(4)[y].T @ X, atol=1e-12)
    assert whole.n == n


def test_few_samples_are_kept_as_rows_and_many_as_their_product():
    X, y = samples(4)
    assert SeenStatistics.from_samples(X, y, 4).gram is None
    both = SeenStatistics.from_samples(X, y, 4) + SeenStatistics.from_samples(X, y, 4)
    assert both.rows is None
    np.testing.assert_allclose(both.gram, 2 * X.T @ X)


def test_held_out_classes_are_subtracted():
    X, y = samples(50)
    total = SeenStatistics.from_samples(X, y, 4)
    held = y == 2
    rest = (total - SeenStatistics.from_samples(X[held], y[held], 4)).keep(np.arange(4) != 2)
    expected = SeenStatistics.from_samples(X[~held], np.where(y == 3, 2, y)[~held], 3)
    assert_same(rest, expected)
    with pytest.raises(ValueError):
        total.keep(np.arange(4) != 2)


class TestManySamples:
    """More than a block of samples are cut into tasks."""

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch):
        monkeypatch.setattr(statistics, "BLOCK_ROWS", 7)
        monkeypatch.setattr(statistics, "MIN_TASKS", 4)
        monkeypatch.setattr(statistics, "BLOCKS_OF_A_TASK", 3)

    @pytest.mark.parametrize("n", [8, 50, 200])
    def test_the_sums_are_those_of_the_samples(self, n):
        X, y = samples(n)
        found = SeenStatistics.from_samples(X, y, 4)
        np.testing.assert_allclose(found.gram, X.T @ X, atol=1e-12)
        np.testing.assert_allclose(found.sums, np.eye(4)[y].T @ X, atol=1e-12)
        np.testing.assert_array_equal(found.counts, np.bincount(y, minlength=4))

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_workers_and_places_do_not_change_a_bit(self, n, tmp_path):
        X, y = samples(200)
        mapped = MappedArrays(tmp_path).write("X", X.shape, [X])
        in_memory = mapped.astype(np.float64)
        expected = self.both(in_memory, y)
        with working_on(Workers(n)):
            found = self.both(mapped, y)
        with ThreadPoolExecutor(n) as pool, working_on(Workers(n, Travelling(pool))):
            sent = self.both(mapped, y)
        for one, *others in zip(expected, found, sent, strict=True):
            for other in others:
                np.testing.assert_array_equal(one.gram, other.gram)
                np.testing.assert_array_equal(one.sums, other.sums)

    @staticmethod
    def both(X, y):
        total = SeenStatistics.from_samples(X, y, 4)
        return total, total.without(X, y, np.array([1, 3]))

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_a_second_pass_measures_the_spread_of_every_class(self, n, tmp_path):
        X, y = samples(200)
        mapped = MappedArrays(tmp_path).write("X", X.shape, [X])
        rng = np.random.default_rng(1)
        mean, U, centres = rng.normal(size=X.shape[1]), rng.normal(size=(X.shape[1], 3)), rng.normal(size=(4, 3))
        rows = np.flatnonzero(y != 2)  # of which there are none in a fold
        expected = class_squares(Rows(mapped.astype(np.float64), rows), y[rows], mean, U, centres)
        with working_on(Workers(n)):
            found = class_squares(Rows(mapped, rows), y[rows], mean, U, centres)
        np.testing.assert_array_equal(found, expected)
        squares = [np.square((mapped[y == c] - mean) @ U - centres[c]).sum(axis=0) for c in (0, 1, 3)]
        np.testing.assert_allclose(found[[0, 1, 3]], squares, rtol=1e-10)
        np.testing.assert_array_equal(found[2], 0)

    def test_samples_in_a_file_travel_as_its_name(self, tmp_path):
        X, y = samples(200, d=30)
        mapped = MappedArrays(tmp_path).write("X", X.shape, [X])
        with ThreadPoolExecutor(1) as pool:
            engine = Travelling(pool)
            with working_on(Workers(1, engine)):
                self.both(mapped, y)
                by_name, engine.bytes = engine.bytes, 0
                self.both(mapped.astype(np.float64), y)
        assert engine.bytes > X.nbytes > 2 * by_name

    def test_few_samples_are_never_multiplied_out(self):
        X, y = samples(20, d=30)
        assert SeenStatistics.from_samples(X, y, 4).gram is None


class Travelling:
    """An engine to which everything goes as bytes."""

    def __init__(self, pool):
        self.pool, self.bytes = pool, 0

    def submit(self, function, *args):
        content = pickle.dumps((function, args))
        self.bytes += len(content)
        return self.pool.submit(self.carry_out, content)

    @staticmethod
    def carry_out(content):
        function, args = pickle.loads(content)  # noqa: S301
        return function(*args)


def test_statistics_of_other_classes_are_refused():
    data = make_synthetic()
    of_all = SeenStatistics.from_samples(data.X, data.y, len(data.S))
    with pytest.raises(DataError, match="S"):
        make_method("eszsl").fit(of_all, data.S[:-1])
    empty = SeenStatistics.from_samples(data.X, data.y, len(data.S) + 1)
    with pytest.raises(DataError, match="S"):
        make_method("eszsl").fit(empty, np.vstack([data.S, data.S[:1]]))
    with pytest.raises(AezslError, match="S"):
        make_method("eszsl").fit(data.X, data.y)
