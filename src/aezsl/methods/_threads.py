"""Independent pieces of work side by side, each on one BLAS thread.

Two threads inside one small product of matrices mostly wait for each other, and beside any other work on the machine
they wait long (an eigen-decomposition of a 384 x 384 matrix: 16 ms on one thread, up to 2 s on two). Two pieces of
work on one thread each do not.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

T = TypeVar("T")


def n_threads() -> int:
    """How many threads BLAS may use now: of the machine, the environment (OMP_NUM_THREADS ...) or an outer limit."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def one_blas_thread() -> AbstractContextManager[Any]:
    """BLAS works on one thread inside this context."""
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


def run_side_by_side(function: Callable[[T], None], items: Iterable[T]) -> None:
    """Call the function on all items, on as many threads as BLAS had; it must only touch what belongs to its item."""
    workers = n_threads()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, items):  # raises what a call raised
            pass
