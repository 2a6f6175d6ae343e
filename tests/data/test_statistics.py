"""Statistics of samples: they add up, whatever the blocks, and say what closed forms need."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aezsl.data.statistics import SeenStatistics
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
    with pytest.raises(ValueError, match="without samples"):
        total.keep(np.arange(4) != 2)


def test_a_mapped_file_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("aezsl.data.statistics.BLOCK_ROWS", 7)
    X, y = samples(50)
    mapped = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=X.shape)
    mapped[:] = X
    assert_same(
        SeenStatistics.from_samples(mapped, y, 4), SeenStatistics.from_samples(X.astype(np.float32), y, 4), 1e-5
    )


def test_statistics_of_other_classes_are_refused():
    data = make_synthetic()
    statistics = SeenStatistics.from_samples(data.X, data.y, len(data.S))
    with pytest.raises(ValueError, match="statistics are of 30 classes, but S describes 29"):
        make_method("eszsl").fit(statistics, data.S[:-1])
    empty = SeenStatistics.from_samples(data.X, data.y, len(data.S) + 1)
    with pytest.raises(ValueError, match="no sample"):
        make_method("eszsl").fit(empty, np.vstack([data.S, data.S[:1]]))
    with pytest.raises(ValueError, match="fit needs the semantics S"):
        make_method("eszsl").fit(data.X, data.y)
