"""Shared values: each computed once."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aezsl.data.once import Once


def test_a_value_is_computed_by_the_first_and_kept_for_the_others():
    once, made = Once(), []
    assert [once("a", lambda: made.append(1) or object()) for _ in range(2)].count(once("a", object)) == 2
    assert once("b", lambda: 3) == 3
    assert len(made) == 1


def test_threads_wait_for_the_one_that_began():
    once, began, go_on, made = Once(), threading.Event(), threading.Event(), []

    def compute():
        made.append(1)
        began.set()
        assert go_on.wait(30)
        return "value"

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(once, "key", compute) for _ in range(4)]
        assert began.wait(30)
        go_on.set()
        assert {future.result() for future in found} == {"value"}
    assert len(made) == 1


def test_what_fails_is_not_kept():
    once = Once()
    with pytest.raises(MemoryError):
        once("key", lambda: (_ for _ in ()).throw(MemoryError()))
    assert once("key", lambda: 1) == 1


def test_a_copy_starts_empty():
    once = Once()
    once("key", lambda: 1)
    assert pickle.loads(pickle.dumps(once))("key", lambda: 2) == 2  # noqa: S301  # our own bytes
