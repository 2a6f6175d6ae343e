"""Linear algebra shared by the closed-form methods."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

Array = NDArray[np.floating[Any]]


def row_space_eigh(X: Array) -> tuple[Array, Array]:
    r"""Eigen-decomposition of the Gram matrix on the row space of X: ``X'X = U diag(l) U'``.

    Works on whichever Gram matrix is smaller. Directions outside the row space carry eigenvalue zero and are
    left out, so U is (d, r) with r <= min(n, d): exact for every problem that sees X only through the
    products of its rows, and the reason why cost follows the rank and not the width.

    Returns U (d, r) with orthonormal columns and l (r,) in decreasing order.
    """
    X = np.asarray(X, dtype=np.float64)
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
    return np.ascontiguousarray(vectors[:, keep]), values[keep].copy()


def class_sums(X: Array, y: NDArray[np.integer[Any]], n_classes: int) -> Array:
    """``Y'X`` (n_classes, d) for one-hot Y: the sum of the samples of each class, without forming Y."""
    X = np.asarray(X, dtype=np.float64)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(n_classes))
    counts = np.diff(np.append(starts, len(y)))
    sums = np.zeros((n_classes, X.shape[1]))
    sums[counts > 0] = np.add.reduceat(X[order], starts[counts > 0], axis=0)
    return sums
