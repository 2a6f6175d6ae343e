"""Linear algebra shared by the closed-form methods."""

import numpy as np
from scipy.linalg import eigh, qr

from aezsl.arrays import Array
from aezsl.data.statistics import SeenStatistics
from aezsl.machine.workers import small_products


def row_space_eigh(X: Array) -> tuple[Array, Array]:
    r"""Eigen-decomposition of the Gram matrix on the row space of X: ``X'X = U diag(l) U'``.

    Works on whichever Gram matrix is smaller. Directions outside the row space carry eigenvalue zero and are
    left out, so U is (d, r) with r <= min(n, d): exact for every problem that sees X only through the
    products of its rows, and the reason why cost follows the rank and not the width.

    Returns U (d, r) with orthonormal columns and l (r,) in decreasing order.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    n, d = X.shape
    if n >= d:
        return gram_eigh(X.T @ X, n)
    # X' = QR keeps U orthonormal to rounding, which X'(XX')^-1/2 would not for small eigenvalues.
    with small_products():
        Q, R = qr(X.T, mode="economic", check_finite=False)
        values, vectors = eigh(R @ R.T, check_finite=False)
    return _row_space(values, Q @ vectors, d)


def gram_eigh(gram: Array, n: int, subtracted: float = 0.0) -> tuple[Array, Array]:
    """As ``row_space_eigh`` for the product X'X (d, d) of n samples, of which that much has been taken away before."""
    with small_products():
        values, vectors = eigh(gram, check_finite=False)
    return _row_space(values, vectors, max(n, len(gram)), subtracted)


def moment_eigh(statistics: SeenStatistics) -> tuple[Array, Array]:
    """As ``row_space_eigh`` for samples that are known by their statistics."""
    if statistics.gram is None:
        assert statistics.rows is not None  # one of the two is always there
        return row_space_eigh(statistics.rows)
    return gram_eigh(statistics.gram, statistics.n)


def centred_moment_eigh(statistics: SeenStatistics) -> tuple[Array, Array, Array]:
    """The mean (d,) of the samples, and ``moment_eigh`` of the samples without it."""
    mean = statistics.sums.sum(axis=0) / statistics.n
    if statistics.gram is None:
        assert statistics.rows is not None  # one of the two is always there
        return mean, *row_space_eigh(statistics.rows - mean)
    centred = statistics.gram - statistics.n * np.outer(mean, mean)
    return mean, *gram_eigh(centred, statistics.n, statistics.n * float(mean @ mean))


def _row_space(values: Array, vectors: Array, size: int, subtracted: float = 0.0) -> tuple[Array, Array]:
    """Eigenvalues above rounding, in decreasing order, with their vectors."""
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > max(values[0], subtracted) * size * np.finfo(np.float64).eps
    U, l = np.ascontiguousarray(vectors[:, keep]), values[keep].copy()
    for shared in (U, l):
        shared.flags.writeable = False  # others may hold the same arrays
    return U, l
