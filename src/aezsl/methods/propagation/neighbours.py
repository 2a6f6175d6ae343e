"""Neighbours of pool images, among them labelled training images."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.data.statistics import class_sums


class PoolGraph(NamedTuple):
    """The graph as the pool sees it.

    S : (m, m) links among its samples, a block of the normalised graph of all nodes.
    labelled : (m, C) links of its samples to labelled nodes, added up class by class; None without such nodes.
    """

    S: csr_array
    labelled: Array | None = None


def pool_graph(X: Array, k: int, X_labelled: Array, y_labelled: Labels, n_classes: int) -> PoolGraph:
    """The graph of k neighbours of the pool X (m, d) and labelled nodes (l, d) together, all of them unit rows."""
    if len(X_labelled) == 0:
        return PoolGraph(neighbour_graph(X, k))
    m, n_labelled = len(X), len(X_labelled)
    of_pool = neighbour_graph(np.vstack([X, X_labelled]), k)[:m]
    Y = csr_array((np.ones(n_labelled), y_labelled, np.arange(n_labelled + 1)), shape=(n_labelled, n_classes))
    return PoolGraph(csr_array(of_pool[:, :m]), csr_array(of_pool[:, m:] @ Y).toarray())


def some_of_every_class(y: Labels, most: int, seed: int = 0) -> Labels:
    """Sorted rows of at most ``most`` samples of every class, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # class by class, at random within each
    counts = np.bincount(y)
    place = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[place < most])


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
    nearest, cosines = cell_neighbours(X, k, seed=seed) if search else exact_neighbours(X, k)
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
    for rows in _blocks(np.arange(m), m):
        nearest[rows], cosines[rows] = _among_all(X, rows, k)
    return nearest, cosines


def cell_neighbours(
    X: Array, k: int, cell: int = 256, probes: int = 12, axes: int = 128, seed: int = 0
) -> tuple[Labels, Array]:
    """Approximate neighbours: every row looks for them in the ``probes`` cells whose centres are most similar to it.

    Cells hold ``cell`` rows in the mean and never more than twice as many: spherical k-means on the first principal
    axes, with larger cells cut at random. Within cells cosines are exact, of whole rows. That is ``probes * cell``
    cosines for every row, however many rows there are; finding the cells adds m / ``cell`` short ones, which at a
    million rows of 1,280 features is less than a fifth of the work. A row whose cells hold fewer than k others is
    compared with all rows. At last every row looks at the neighbours of its neighbours, k * k more.
    """
    rng = np.random.default_rng(seed)
    m = len(X)
    home, visited = _cells(_principal(X, axes, rng), cell, probes, rng)
    nearest = np.full((m, k), -1, dtype=np.int64)
    cosines = np.full((m, k), -np.inf, dtype=np.float32)
    residents, visitors = _grouped(home), _grouped(visited.ravel())
    for here, coming in zip(residents, visitors, strict=True):
        inside = X[here]
        for rows in _blocks(coming // visited.shape[1], len(here)):
            products = X[rows] @ inside.T
            products[rows[:, None] == here] = -np.inf
            at, value = _best(products, min(k, len(here)))
            _merge(nearest, cosines, rows, here[at], value)
    few = np.flatnonzero(np.isneginf(cosines[:, -1]))
    for rows in _blocks(few, m):
        nearest[rows], cosines[rows] = _among_all(X, rows, k)
    return _among_their_neighbours(X, nearest)


def _among_their_neighbours(X: Array, nearest: Labels) -> tuple[Labels, Array]:
    """The k most similar among the k neighbours of every row and the neighbours of these, and their cosines."""
    m, k = nearest.shape
    better, cosines = np.empty_like(nearest), np.empty((m, k), dtype=np.float32)
    for rows in _blocks(np.arange(m), k * (k + 1) * X.shape[1]):
        candidates = np.hstack([nearest[rows], nearest[nearest[rows]].reshape(len(rows), -1)])
        candidates.sort(axis=1)
        products = np.matmul(X[candidates], X[rows][:, :, None])[:, :, 0]
        products[candidates == rows[:, None]] = -np.inf
        products[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = -np.inf  # each counts once
        at, cosines[rows] = _best(products, k)
        better[rows] = np.take_along_axis(candidates, at, 1)
    return better, cosines


def _principal(X: Array, axes: int, rng: np.random.Generator) -> Array:
    """Rows on the principal axes of a sample of them."""
    if X.shape[1] <= axes:
        return X
    sample = X[rng.choice(len(X), min(len(X), 5_000), replace=False)]
    _, vectors = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(X @ vectors[:, -axes:].astype(X.dtype))


def _cells(Z: Array, cell: int, probes: int, rng: np.random.Generator) -> tuple[Labels, Labels]:
    """The cell (m,) that every row lives in, and the cells (m, probes) it visits, its own among them."""
    m = len(Z)
    n_cells = -(-m // cell)
    centres = Z[rng.choice(m, n_cells, replace=False)]
    sample = Z[rng.choice(m, min(m, 32 * n_cells), replace=False)]
    for _ in range(4):
        sums = class_sums(sample, _most_similar(sample, centres, 1)[:, 0], n_cells)
        centres = np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), centres).astype(Z.dtype)
    home = _cut(_most_similar(Z, centres, 1)[:, 0], 2 * cell, rng)
    centres = unit_rows(class_sums(Z, home, home.max() + 1)).astype(Z.dtype)
    visited = _most_similar(Z, centres, min(probes, len(centres)))
    away = ~(visited == home[:, None]).any(axis=1)
    visited[away, -1] = home[away]
    return home, visited


def _cut(home: Labels, largest: int, rng: np.random.Generator) -> Labels:
    """The same cells without empty ones, those of more than ``largest`` rows cut into equal parts at random."""
    order = rng.permutation(len(home))
    cells: list[Labels] = []
    for rows in _grouped(home[order]):
        cells += np.array_split(order[rows], -(-len(rows) // largest)) if len(rows) else []
    cut = np.empty_like(home)
    for number, rows in enumerate(cells):
        cut[rows] = number
    return cut


def _most_similar(Z: Array, centres: Array, n: int) -> Labels:
    """The n centres with the largest products, most similar first, for every row of Z."""
    found = np.empty((len(Z), n), dtype=np.int64)
    for rows in _blocks(np.arange(len(Z)), len(centres)):
        found[rows] = _best(Z[rows] @ centres.T, n)[0]
    return found


def _grouped(labels: Labels) -> list[Labels]:
    """The places of every label 0, 1, 2 ..., in order."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def _blocks(rows: Labels, width: int) -> Iterator[Labels]:
    """Parts of the rows whose products with ``width`` others fit into a block."""
    step = max(1, BLOCK_ENTRIES // width)
    return (rows[i : i + step] for i in range(0, len(rows), step))


def _merge(nearest: Labels, cosines: Array, rows: Labels, at: Labels, value: Array) -> None:
    """Take what was found for these rows into their lists; no candidate comes twice."""
    k = nearest.shape[1]
    both, values = np.hstack([nearest[rows], at]), np.hstack([cosines[rows], value])
    chosen, cosines[rows] = _best(values, k)
    nearest[rows] = np.take_along_axis(both, chosen, 1)


def _among_all(X: Array, rows: Labels, k: int) -> tuple[Labels, Array]:
    """The k most similar other rows of some rows, and their cosines."""
    products = X[rows] @ X.T
    products[np.arange(len(rows)), rows] = -np.inf
    return _best(products, k)


def _best(values: Array, k: int) -> tuple[Labels, Array]:
    """Places and values of the k largest of every row, largest first."""
    at = np.argpartition(-values, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(values, at, 1), axis=1, kind="stable")
    at = np.take_along_axis(at, order, 1)
    return at, np.take_along_axis(values, at, 1)
