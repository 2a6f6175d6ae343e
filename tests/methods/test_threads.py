"""Work side by side."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aezsl.methods.shared.threads import n_threads, one_blas_thread, run_side_by_side


@pytest.fixture(autouse=True)
def _two_threads():
    """As on a machine with two cores and no limit, whatever the tests themselves were given."""
    with threadpool_limits(2, user_api="blas"):
        yield


def test_every_item_is_worked_on_once_with_one_blas_thread():
    found = np.zeros(50)
    threads = []

    def work(i):
        found[i] += i
        threads.append(n_threads())

    assert n_threads() == 2
    run_side_by_side(work, range(50))
    np.testing.assert_array_equal(found, np.arange(50))
    assert set(threads) == {1}
    assert n_threads() == 2


def test_as_many_items_at_once_as_there_were_threads():
    both = threading.Barrier(2, timeout=30)
    run_side_by_side(lambda _: both.wait(), range(2))  # one after the other, they would wait in vain


def test_an_error_in_one_item_is_raised():
    def work(i):
        if i == 3:
            raise ValueError("item 3")

    with pytest.raises(ValueError, match="item 3"):
        run_side_by_side(work, range(5))


def test_an_outer_limit_is_respected():
    workers = set()
    with one_blas_thread():
        assert n_threads() == 1
        run_side_by_side(lambda _: workers.add(threading.get_ident()), range(20))
    assert len(workers) == 1
