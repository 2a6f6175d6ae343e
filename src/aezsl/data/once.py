"""Values that several fits share: each is computed once, by whoever asks first, on any number of threads."""

from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Any, TypeVar

T = TypeVar("T")


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
