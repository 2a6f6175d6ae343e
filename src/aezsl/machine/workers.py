"""Independent tasks side by side, each on one BLAS thread, with results that do not depend on how many work.

Two threads inside one small product of matrices mostly wait for each other, and beside any other work on the machine
they wait long (an eigen-decomposition of a 384 x 384 matrix: 16 ms on one thread, up to 2 s on two). Two tasks on one
thread each do not. Work is cut into tasks by its size alone, never by the number of workers, and results are taken in
the order of the tasks: so 1, 2 and 7 workers, on whatever engine, give the same bits.
"""

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import islice
from threading import Lock, RLock
from typing import Any, Protocol, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """What carries tasks out elsewhere: an executor of ``concurrent.futures``, or whatever submits like one."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Start ``function(*args)`` and return something with ``result()`` and ``cancel()``."""


@dataclass(frozen=True)
class Workers:
    """Where tasks are carried out: on threads of this process, or on a given engine.

    n : how many tasks are worked on at once.
    engine : carries the tasks out; without one they run in this process, on ``n`` threads of its own.
    share : brings an argument that all tasks need to where they run, once, and returns what is submitted in its place
        (a cluster's ``scatter``); without it the argument itself is submitted with every task.
    """

    n: int = 1
    engine: Engine | None = None
    share: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"there must be at least one worker, got n={self.n}")

    @property
    def elsewhere(self) -> bool:
        """Whether tasks leave this process: work that has threads of its own here is cut into tasks only then."""
        return self.engine is not None

    def map(self, function: Callable[..., R], items: Iterable[T], *shared: Any) -> Iterator[R]:
        """``function(item, *shared)`` of every item, in the order of the items.

        At most ``2 n`` items are under way or finished and not yet taken, so memory does not grow with their number.
        For an engine in other processes the function, items, shared arguments and results must be picklable.
        """
        if self.engine is None and self.n == 1:
            yield from (_OnOneThread(function)(item, *shared) for item in items)
        elif self.engine is None:
            with one_blas_thread(), ThreadPoolExecutor(self.n) as pool:
                yield from _in_order(pool, 2 * self.n, function, items, shared)
        else:
            there = shared if self.share is None else tuple(map(self.share, shared))
            yield from _in_order(self.engine, 2 * self.n, _OnOneThread(function), items, there)


@dataclass(frozen=True)
class _OnOneThread:
    """A function that limits BLAS wherever it runs."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        with one_blas_thread():
            return self.function(*args)


def _in_order(
    engine: Engine, window: int, function: Callable[..., R], items: Iterable[Any], shared: tuple[Any, ...]
) -> Iterator[R]:
    remaining = iter(items)
    under_way: deque[Future[R]] = deque(engine.submit(function, item, *shared) for item in islice(remaining, window))
    try:
        while under_way:
            result = under_way.popleft().result()
            under_way.extend(engine.submit(function, item, *shared) for item in islice(remaining, 1))
            yield result
    finally:  # after an error, or when nobody wants the rest
        for future in under_way:
            future.cancel()


_given: ContextVar[Workers | None] = ContextVar("workers", default=None)
#: How many threads BLAS had before ``small_products``; not known in the threads of tasks, which have one each.
_threads_outside: ContextVar[int | None] = ContextVar("threads", default=None)


def workers() -> Workers:
    """Those that ``working_on`` has given, or else as many threads of this process as BLAS may use."""
    return _given.get() or _threads_of_this_process()


def _threads_of_this_process() -> Workers:
    return Workers(_threads_outside.get() or n_threads())


def workers_are_given() -> bool:
    """Whether this is a node or a task among others on the same machine."""
    return _given.get() is not None


@contextmanager
def working_on(given: Workers) -> Iterator[None]:
    """Inside this context, and the thread that opened it, long work is done by the given workers."""
    token = _given.set(given)
    try:
        yield
    finally:
        _given.reset(token)


def run_side_by_side(function: Callable[[T], None], items: Iterable[T]) -> None:
    """Call the function on all items, on as many threads of this process as BLAS had.

    It may write into arrays of this process, and must only touch what belongs to its item.
    """
    for _ in _threads_of_this_process().map(function, items):  # raises what a call raised
        pass


def _blas() -> ThreadpoolController:
    """The BLAS libraries that are loaded: numpy's, and scipy's where something has imported it."""
    return _found_blas("scipy.linalg" in sys.modules)


@cache
def _found_blas(scipy_too: bool) -> ThreadpoolController:
    """Finding them takes milliseconds, so it is done once for each."""
    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """How many threads BLAS may use now: of the machine, the environment (OMP_NUM_THREADS ...) or an outer limit."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


class _Limit:
    """The limit of a whole process: the first thread to ask sets it and the last to leave lifts it.

    From version 3.8 on threadpoolctl listens only to the thread that set a limit first, and ignores all others without
    a word: as they take turns here, each is given the word when it is its turn.
    """

    def __init__(self) -> None:
        self._lock, self._holders = Lock(), 0
        self._limiter: Any = None

    def take(self) -> None:
        with self._lock:
            if self._holders == 0:
                _listen_to_this_thread()
                self._limiter = _blas().limit(limits=1)
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                _listen_to_this_thread()
                self._limiter.restore_original_limits()
                _listen_to_this_thread()  # and so to whoever comes next


def _listen_to_this_thread() -> None:
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS works on one thread inside this context, and in the rest of the process for as long as anybody is in one."""
    _limit.take()
    try:
        yield
    finally:
        _limit.leave()


@contextmanager
def small_products() -> Iterator[None]:
    """BLAS works on one thread inside this context, while tasks still run side by side on as many threads as it had.

    For work that is made of many short products or of decompositions. Threads of BLAS meet after every product, so
    when another process has one of the cores, each product lasts until the scheduler has come round: a grid of ESZSL
    took eight times as long beside a busy core. One thread waits for nobody.
    """
    token = _threads_outside.set(_threads_outside.get() or n_threads())
    try:
        with one_blas_thread():
            yield
    finally:
        _threads_outside.reset(token)


class Once:
    """Computes a value when it is first asked for, and keeps it for as long as this object lives.

    ``once(key, compute)`` calls ``compute`` for the first one who asks for ``key`` and gives the same value to all who
    ask later. So whoever makes a ``Once`` decides who shares: the fits of one grid, or all methods that work on the
    same fold. A value must depend on nothing but its key and on what all who share the object have in common.

    Threads that ask for a value while another one computes it wait for it; values of different keys are computed side
    by side. If ``compute`` fails, nothing is kept and the next one tries again.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, _Place] = {}
        self._lock = Lock()  # of the dictionary alone: it is never held while something is computed

    def __call__(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``key``."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
        with place.lock:
            if not place.filled:
                place.value = compute()
                place.filled = True
        value: T = place.value
        return value

    def __reduce__(self) -> tuple[type["Once"], tuple[()]]:
        """A copy, in another process too, starts empty."""
        return Once, ()


class _Place:
    """Where one value is kept, and the lock of whoever computes it."""

    def __init__(self) -> None:
        self.lock = RLock()  # a value that needs itself then ends in a RecursionError, not in waiting for ever
        self.filled = False
        self.value: Any = None


class SameObject:
    """A key that equals another one only if both are of one and the same object, whatever that object equals.

    The key holds the object: as long as a value is kept under it, no other object can get its identity.
    """

    def __init__(self, it: object) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other._it is self._it

    def __hash__(self) -> int:
        return id(self._it)
