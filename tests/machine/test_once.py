"""Shared values: each computed once."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aezsl.machine.workers import Once, SameObject


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


def test_another_key_is_computed_meanwhile():
    once = Once()
    with ThreadPoolExecutor(1) as pool:
        assert once("outer", lambda: pool.submit(once, "inner", lambda: 1).result(30) + 1) == 2


def test_a_value_that_needs_itself_is_an_error_and_no_endless_wait():
    once = Once()

    def compute():
        return once("key", compute)

    with pytest.raises(RecursionError):
        compute()


def test_equal_objects_are_different_keys_unless_they_are_the_same():
    first, second = [1], [1]
    assert SameObject(first) == SameObject(first)
    assert SameObject(first) != SameObject(second)
    once = Once()
    assert [once(SameObject(it), lambda it=it: id(it)) for it in (first, second, first)] == [
        id(first),
        id(second),
        id(first),
    ]


def test_the_object_of_a_key_lives_as_long_as_its_value():
    """Otherwise another object could get its identity, and its value."""
    once, objects = Once(), []
    for number in range(100):
        thing = [number]
        assert once(SameObject(thing), lambda n=number: n) == number
        objects.append(id(thing))
        del thing
    assert len(set(objects)) == 100
