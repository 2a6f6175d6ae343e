"""Linear algebra shared by the closed-form methods."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from aezsl.arrays import Array, digest

#: Shared decompositions are kept up to this many bytes, the oldest go first.
SHARED_BYTES = 2**28

_sharing: ContextVar[bool] = ContextVar("sharing", default=False)
_shared: dict[bytes, Future[tuple[Array, Array]]] = {}
_shared_lock = Lock()


@contextmanager
def shared_decompositions() -> Iterator[None]:
    """Inside this context ``row_space_eigh`` makes the decomposition of equal samples once, whoever asks for it.

    Methods are compared on the same folds, on several threads even, and most of them begin with this decomposition.
    Outside it a method pays for its own, so that what is measured of a fit does not depend on who came before.
    """
    token = _sharing.set(True)
    try:
        yield
    finally:
        _sharing.reset(token)


def row_space_eigh(X: Array) -> tuple[Array, Array]:
    r"""Eigen-decomposition of the Gram matrix on the row space of X: ``X'X = U diag(l) U'``.

    Works on whichever Gram matrix is smaller. Directions outside the row space carry eigenvalue zero and are
    left out, so U is (d, r) with r <= min(n, d): exact for every problem that sees X only through the
    products of its rows, and the reason why cost follows the rank and not the width.

    Returns U (d, r) with orthonormal columns and l (r,) in decreasing order.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if not _sharing.get():
        return _row_space_eigh(X)
    key = digest(X)
    with _shared_lock:
        is_first = key not in _shared
        future = _shared.setdefault(key, Future())
    if is_first:
        try:
            future.set_result(_row_space_eigh(X))
        except BaseException as error:
            with _shared_lock:
                del _shared[key]  # the next one tries again
            future.set_exception(error)  # to those who wait for it
        _keep_within(SHARED_BYTES)
    return future.result()


def _keep_within(limit: int) -> None:
    """Drop the oldest shared decompositions until the rest take no more than this; the newest always stays."""
    with _shared_lock:
        sizes = {key: sum(part.nbytes for part in kept.result()) for key, kept in _shared.items() if kept.done()}
        for key in list(sizes)[:-1]:
            if sum(sizes.values()) > limit:
                del _shared[key], sizes[key]


def _row_space_eigh(X: Array) -> tuple[Array, Array]:
    n, d = X.shape
    if n < d:
        # X' = QR keeps U orthonormal to rounding, which X'(XX')^-1/2 would not for small eigenvalues.
        Q, R = qr(X.T, mode="economic", check_finite=False)
        values, vectors = eigh(R @ R.T, check_finite=False)
        vectors = Q @ vectors
    else:
        values, vectors = eigh(X.T @ X, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > values[0] * max(n, d) * np.finfo(np.float64).eps
    U, l = np.ascontiguousarray(vectors[:, keep]), values[keep].copy()
    for shared in (U, l):
        shared.flags.writeable = False  # others may hold the same arrays
    return U, l


def class_sums(X: Array, y: NDArray[np.integer[Any]], n_classes: int) -> Array:
    """``Y'X`` (n_classes, d) for one-hot Y: the sum of the samples of each class, without forming Y."""
    X = np.asarray(X, dtype=np.float64)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes))
    counts = np.diff(np.append(starts, len(y)))
    sums = np.zeros((n_classes, X.shape[1]))
    sums[counts > 0] = np.add.reduceat(X[order], starts[counts > 0], axis=0)
    return sums
