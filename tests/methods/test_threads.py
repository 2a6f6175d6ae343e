"""Work side by side."""

import numpy as np
import pytest

from aezsl.methods._threads import n_threads, one_blas_thread, run_side_by_side


def test_every_item_is_worked_on_once_with_one_blas_thread():
    found = np.zeros(50)
    threads = []

    def work(i):
        found[i] += i
        threads.append(n_threads())

    before = n_threads()
    run_side_by_side(work, range(50))
    np.testing.assert_array_equal(found, np.arange(50))
    assert set(threads) == {1}
    assert n_threads() == before


def test_an_error_in_one_item_is_raised():
    def work(i):
        if i == 3:
            raise ValueError("item 3")

    with pytest.raises(ValueError, match="item 3"):
        run_side_by_side(work, range(5))


def test_an_outer_limit_is_respected():
    with one_blas_thread():
        assert n_threads() == 1
