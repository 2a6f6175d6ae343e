"""The neighbour graph of a pool of unit rows: exact search, or an approximate one whose time grows as m log m."""

import numpy as np
from scipy.sparse import csr_array, diags_array

from aezsl.arrays import Array, Labels

#: Pools up to this size are searched exactly.
EXACT_UP_TO = 8_000
#: Products are formed in blocks of at most this many entries.
BLOCK_ENTRIES = 4_000_000


def neighbour_graph(X: Array, k: int, approximate: bool | None = None, seed: int = 0) -> csr_array:
    r"""Symmetric heat-kernel weights (m, m) of the k nearest neighbours of unit rows X, normalised.

    :math:`D^{-1/2} W D^{-1/2}` with :math:`w_{ij} = \exp(-\|x_i - x_j\|^2 / t)` where one of the two is among the k
    nearest of the other, t the mean of these distances. A sample without a neighbour keeps a row of zeros.
    approximate : whether the search is; by the size of the pool where None.
    """
    m = len(X)
    k = min(k, m - 1)
    if k < 1:
        return csr_array((m, m))
    search = m > EXACT_UP_TO if approximate is None else approximate
    nearest, cosines = forest_neighbours(X, k, seed=seed) if search else exact_neighbours(X, k)
    distances = np.maximum(2 - 2 * cosines.astype(np.float64), 0)
    t = distances.mean()
    weights = np.exp(-distances / t) if t > 0 else np.ones_like(distances)
    W = csr_array((weights.ravel(), nearest.ravel(), np.arange(m + 1) * k), shape=(m, m))
    W = W.maximum(W.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1.0)))
    return csr_array(scale @ W @ scale)


def exact_neighbours(X: Array, k: int) -> tuple[Labels, Array]:
    """The k most similar other rows of every unit row, and their cosines; quadratic in time, linear in memory."""
    m = len(X)
    nearest, cosines = np.empty((m, k), dtype=np.int64), np.empty((m, k), dtype=np.float32)
    step = max(1, BLOCK_ENTRIES // m)
    for i in range(0, m, step):
        products = X[i : i + step] @ X.T
        rows = np.arange(len(products))
        products[rows, i + rows] = -np.inf
        nearest[i : i + step], cosines[i : i + step] = _best(products, k)
    return nearest, cosines


def forest_neighbours(
    X: Array, k: int, trees: int = 8, leaf: int = 256, width: int = 128, seed: int = 0
) -> tuple[Labels, Array]:
    """Approximate neighbours in time m log m: candidates share a leaf of one of several random trees.

    Every tree halves the rows at the median of their projection on the difference of two random rows, until a leaf has
    at most ``leaf`` rows; within leaves search is exact, on ``width`` principal axes. The 3 k best candidates of all
    trees are ranked by the full rows.
    """
    rng = np.random.default_rng(seed)
    m = len(X)
    Z = _principal(X, width, rng)
    keep = min(3 * k, leaf // 2 - 1)
    best = np.full((m, keep), -1, dtype=np.int64)
    score = np.full((m, keep), -np.inf, dtype=np.float32)
    for _ in range(trees):
        for rows in _leaves(Z, leaf, rng):
            products = Z[rows] @ Z[rows].T
            np.fill_diagonal(products, -np.inf)
            at, value = _best(products, keep)
            best[rows], score[rows] = _merged(best[rows], score[rows], rows[at], value, keep)
    return _ranked(X, best, k)


def _principal(X: Array, width: int, rng: np.random.Generator) -> Array:
    """Rows on the principal axes of a sample of them."""
    if X.shape[1] <= width:
        return X
    sample = X[rng.choice(len(X), min(len(X), 5_000), replace=False)]
    _, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(X @ axes[:, -width:].astype(X.dtype))


def _leaves(Z: Array, leaf: int, rng: np.random.Generator) -> list[Labels]:
    """Random halvings until every part has at most ``leaf`` rows."""
    waiting: list[Labels] = [np.arange(len(Z))]
    done: list[Labels] = []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= leaf:
            done.append(rows)
            continue
        one, other = Z[rng.choice(rows, 2, replace=False)]
        order = np.argpartition(Z[rows] @ (one - other), len(rows) // 2)
        waiting += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    return done


def _merged(best: Labels, score: Array, at: Labels, value: Array, keep: int) -> tuple[Labels, Array]:
    """The ``keep`` best of two lists per row, each candidate once."""
    at, value = np.hstack([best, at]), np.hstack([score, value])
    order = np.argsort(at, axis=1, kind="stable")
    at, value = np.take_along_axis(at, order, 1), np.take_along_axis(value, order, 1)
    value[:, 1:][at[:, 1:] == at[:, :-1]] = -np.inf
    chosen = np.argpartition(-value, keep - 1, axis=1)[:, :keep]
    return np.take_along_axis(at, chosen, 1), np.take_along_axis(value, chosen, 1)


def _ranked(X: Array, candidates: Labels, k: int) -> tuple[Labels, Array]:
    """The k best candidates by the full rows, best first."""
    m, n = candidates.shape
    nearest, cosines = np.empty((m, k), dtype=np.int64), np.empty((m, k), dtype=np.float32)
    step = max(1, BLOCK_ENTRIES // (n * X.shape[1]) * 4)
    for i in range(0, m, step):
        some = candidates[i : i + step]
        products = np.einsum("ind,id->in", X[some], X[i : i + step])
        at, cosines[i : i + step] = _best(np.where(some < 0, -np.inf, products), k)
        nearest[i : i + step] = np.take_along_axis(some, at, 1)
    return nearest, cosines


def _best(values: Array, k: int) -> tuple[Labels, Array]:
    """Places and values of the k largest of every row, largest first."""
    at = np.argpartition(-values, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(values, at, 1), axis=1, kind="stable")
    at = np.take_along_axis(at, order, 1)
    return at, np.take_along_axis(values, at, 1)
