"""Tasks side by side: in order, in a bounded window, on one BLAS thread, the same bits for any number of workers."""

import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aezsl.machine.workers import (
    Workers,
    n_threads,
    one_blas_thread,
    run_side_by_side,
    small_products,
    workers,
    working_on,
)


@pytest.fixture(autouse=True)
def _two_threads():
    """As on a machine with two cores and no limit, whatever the tests themselves were given."""
    with threadpool_limits(2, user_api="blas"):
        yield


def product(seed, A):
    """A task: a block of work of its own, which depends on BLAS."""
    return A.T @ np.random.default_rng(seed).normal(size=A.shape)


class Here:
    """An engine that carries a task out when its result is asked for."""

    def __init__(self):
        self.submitted, self.most, self.cancelled = 0, 0, 0

    def submit(self, function, *args):
        engine = self
        self.submitted += 1
        self.most = max(self.most, self.submitted)

        class Task(Future):
            def result(self, timeout=None):
                engine.submitted -= 1
                return function(*args)

            def cancel(self):
                engine.cancelled += 1
                return True

        return Task()


class TestMap:
    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_any_number_of_workers_gives_the_same_bits(self, n):
        A = np.random.default_rng(0).normal(size=(300, 40))
        with one_blas_thread():
            expected = sum(product(seed, A) for seed in range(20))
        found = sum(Workers(n).map(product, range(20), A))
        np.testing.assert_array_equal(found, expected)
        with ThreadPoolExecutor(n) as pool:
            np.testing.assert_array_equal(sum(Workers(n, pool).map(product, range(20), A)), expected)

    @pytest.mark.slow
    def test_other_processes_give_the_same_bits_too(self):
        A = np.random.default_rng(0).normal(size=(300, 40))
        with ProcessPoolExecutor(2) as pool:
            found = list(Workers(2, pool).map(np.multiply, range(5), A))
            threads = list(Workers(2, pool).map(_threads_there, range(3)))
        np.testing.assert_array_equal(found, [i * A for i in range(5)])
        assert threads == [1, 1, 1]

    @pytest.mark.slow
    def test_joblib_s_executor_is_an_engine_too(self):
        from joblib.externals.loky import get_reusable_executor

        # Of one array with its own transpose BLAS computes half only, which it cannot see of two copies elsewhere.
        A, B = np.random.default_rng(0).normal(size=(2, 300, 40))
        expected = list(Workers().map(np.dot, [B.T.copy()] * 5, A))
        found = list(Workers(2, get_reusable_executor(2, timeout=2)).map(np.dot, [B.T.copy()] * 5, A))
        np.testing.assert_array_equal(found, expected)

    def test_no_more_is_under_way_than_the_window_holds(self):
        engine, taken = Here(), []

        def items():
            for i in range(50):
                taken.append(i)
                yield i

        for place, result in enumerate(Workers(3, engine).map(int, items())):
            assert result == place
            assert len(taken) <= place + 1 + 6
        assert place == 49
        assert engine.most <= 6

    def test_what_all_tasks_share_is_brought_there_once(self):
        brought = []

        def share(value):
            brought.append(value)
            return value * 10

        assert list(Workers(2, Here(), share).map(np.add, range(4), 7)) == [70, 71, 72, 73]
        assert brought == [7]

    @pytest.mark.parametrize("engine", [None, Here()])
    def test_an_error_in_one_task_is_raised_and_the_rest_given_up(self, engine):
        def work(i):
            if i == 3:
                raise ValueError("item 3")

        with pytest.raises(ValueError, match="item 3"):
            list(Workers(2, engine).map(work, range(50)))
        assert n_threads() == 2
        assert engine is None or engine.cancelled == 3

    def test_no_worker_at_all_is_refused(self):
        with pytest.raises(ValueError, match="at least one worker, got n=0"):
            Workers(0)


def _threads_there(_):
    return n_threads()


def test_workers_are_given_from_outside_or_are_threads_of_this_process():
    assert workers() == Workers(2)
    with working_on(Workers(5)):
        assert workers() == Workers(5)
    assert workers() == Workers(2)


class TestSideBySide:
    def test_every_item_is_worked_on_once_with_one_blas_thread(self):
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

    def test_as_many_items_at_once_as_there_were_threads(self):
        both = threading.Barrier(2, timeout=30)
        run_side_by_side(lambda _: both.wait(), range(2))  # one after the other, they would wait in vain

    def test_an_error_in_one_item_is_raised(self):
        def work(i):
            if i == 3:
                raise ValueError("item 3")

        with pytest.raises(ValueError, match="item 3"):
            run_side_by_side(work, range(5))

    def test_an_outer_limit_is_respected(self):
        threads = set()
        with one_blas_thread():
            assert n_threads() == 1
            run_side_by_side(lambda _: threads.add(threading.get_ident()), range(20))
        assert len(threads) == 1


def test_the_limit_is_lifted_by_the_last_to_leave():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(30)
    assert n_threads() == 1  # the other is still inside
    leave.set()
    thread.join()
    assert n_threads() == 2


def test_small_products_have_one_thread_each_and_tasks_all_of_them():
    with small_products(), small_products():
        assert n_threads() == 1
        assert workers() == Workers(2)
        both = threading.Barrier(2, timeout=30)
        inside = set(Workers(2).map(lambda _: both.wait() * 0 + workers().n, range(2)))
        assert inside == {1}  # a task has no threads to give away
    assert n_threads() == 2
