"""Independent pieces of work side by side, each on one BLAS thread.

Two threads inside one small product of matrices mostly wait for each other, and beside any other work on the machine
they wait long (an eigen-decomposition of a 384 x 384 matrix: 16 ms on one thread, up to 2 s on two). Two pieces of
work on one thread each do not.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  # its BLAS must be loaded before it can be found
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of numpy and scipy. Finding them takes milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """How many threads BLAS may use now: of the machine, the environment (OMP_NUM_THREADS ...) or an outer limit."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


def one_blas_thread() -> AbstractContextManager[Any]:
    """BLAS works on one thread inside this context."""
    limits: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limits


def run_side_by_side(function: Callable[[T], None], items: Iterable[T]) -> None:
    """Call the function on all items, on as many threads as BLAS had; it must only touch what belongs to its item."""
    workers = n_threads()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, items):  # raises what a call raised
            pass
