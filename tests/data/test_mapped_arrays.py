"""Matrices in files: what a part of one is known by, and what it is once it has travelled."""

import pickle

import numpy as np
import pytest

from aezsl.data.mapped_arrays import FilePlace, MappedArrays, Rows, map_vectors

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
WHICH = {"all": slice(None), "a run": slice(5, 17), "single": np.array([30, 2, 2]), "none": slice(4, 4)}


@pytest.fixture
def mapped(tmp_path):
    return MappedArrays(tmp_path).write("X", X.shape, np.array_split(X, 3))


def test_a_written_matrix_is_read_again(mapped, tmp_path):
    np.testing.assert_array_equal(mapped, X)
    np.testing.assert_array_equal(map_vectors(tmp_path / "X.arrow"), X)
    assert MappedArrays(tmp_path).write("empty", (0, 3), []).shape == (0, 3)


@pytest.mark.parametrize("which", WHICH.values(), ids=WHICH)
@pytest.mark.parametrize("part", [slice(None), slice(3, 35)])
def test_rows_travel_with_their_numbers_or_by_the_name_of_the_file(mapped, which, part):
    for matrix in (mapped, np.asarray(mapped), mapped.astype(np.float64)):
        there = pickle.loads(pickle.dumps(Rows(matrix[part], which)))  # noqa: S301
        np.testing.assert_array_equal(np.asarray(there), X[part][which])
        assert np.asarray(there).dtype == matrix.dtype
        assert np.asarray(there, dtype=np.float64).dtype == np.float64
        assert (FilePlace.find(there.X) is None) == (matrix.dtype == np.float64)


def test_rows_of_rows_and_blocks_are_those_of_the_matrix():
    for which in WHICH.values():
        rows = Rows(X, which)
        assert len(rows) == len(X[which])
        blocks = list(rows.blocks(5))
        np.testing.assert_array_equal(np.vstack([np.empty((0, 3)), *blocks]), X[which])
        assert all(len(block) <= 5 for block in blocks)
    np.testing.assert_array_equal(np.asarray(Rows(X, slice(5, 17))[np.array([0, 11])]), X[[5, 16]])


def test_what_is_not_in_the_file_has_no_place_there(mapped, tmp_path):
    changed = np.memmap(tmp_path / "raw", np.float32, "w+", shape=X.shape)
    private = np.memmap(tmp_path / "raw", np.float32, "c", shape=X.shape)
    assert FilePlace.find(changed[3:]) == FilePlace(str(tmp_path / "raw"), 36, "<f4", (37, 3))
    for matrix in (private, mapped[:, :2], mapped + 1, X):
        assert FilePlace.find(matrix) is None
