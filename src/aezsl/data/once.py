"""Values that several fits share: each computed once, whoever asks first, on any number of threads."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """Computes a value when it is first asked for, and keeps it for as long as this object lives.

    Whoever holds it decides what is shared: the fits of one grid, or all methods that work on the same fold.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[Hashable, Future[Any]] = {}

    def __call__(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``key``; others who ask while it is computed wait for it."""
        with self._lock:
            is_first = key not in self._values
            future: Future[T] = self._values.setdefault(key, Future())
        if is_first:
            try:
                future.set_result(compute())
            except BaseException as error:
                with self._lock:
                    del self._values[key]  # the next one tries again
                future.set_exception(error)  # to those who wait for it
        return future.result()

    def __reduce__(self) -> tuple[type["Once"], tuple[()]]:
        """A copy, in another process too, starts empty."""
        return Once, ()
