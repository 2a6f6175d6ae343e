"""Graphs of neighbours, and the metric they are measured in."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import coo_array, csr_array, diags_array

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics
from aezsl.evaluation.ranking import top_k


def within_class_factor(statistics: SeenStatistics, shrinkage: float) -> Array:
    """Lower Cholesky factor of the within-class covariance plus ``shrinkage`` times its mean variance."""
    between = statistics.sums.T @ statistics.means
    covariance = (statistics.second_moment - between) / statistics.n
    mean = float(np.trace(covariance)) / len(covariance)
    if mean <= 0:  # one image per class: no direction is known to vary within classes
        return np.eye(len(covariance))
    factor: Array = cholesky(covariance + shrinkage * mean * np.eye(len(covariance)), lower=True, check_finite=False)
    return factor


def whitening(statistics: SeenStatistics, shrinkage: float | None) -> Array:
    """T (d, d): distances between samples ``x T`` are those of the metric. None: an empty T, which changes nothing.

    The mean square of the seen samples stays the same, so that weights against it keep their meaning.
    """
    if shrinkage is None:
        return np.empty((0, 0))
    factor = within_class_factor(statistics, shrinkage)
    T = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False).T
    moment = statistics.second_moment
    square = float(np.vdot(T, moment @ T))
    return T * np.sqrt(np.trace(moment) / square) if square > 0 else T


def whitened(X: Array, T: Array) -> Array:
    """Rows of X (m, d) where distances are those of the metric."""
    return X @ T if T.size else X


#: Distances are formed in blocks of at most this many entries: memory stays linear in the number of samples.
BLOCK_ENTRIES = 2_000_000


def heat_kernel_graph(X: Array, n_neighbors: int) -> csr_array:
    r"""Symmetric weights (n, n) of the k-nearest-neighbour graph of the rows of X.

    :math:`w_{ij} = \exp(-\|x_i - x_j\|^2 / t)` where i is among the ``n_neighbors`` nearest of j or j among those
    of i, zero elsewhere; t is the mean squared distance of all such pairs, so that no scale has to be chosen.
    Of equally near samples the first ones are the neighbours.
    """
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    k = min(n_neighbors, n - 1)
    if k == 0:
        return csr_array((n, n))
    neighbours = nearest_rows(X, k)
    distances = np.empty((n, k))
    step = max(1, BLOCK_ENTRIES // (k * X.shape[1]))
    for i in range(0, n, step):
        differences = X[i : i + step, None, :] - X[neighbours[i : i + step]]
        distances[i : i + step] = np.einsum("ikd,ikd->ik", differences, differences)
    t = distances.mean()
    weights = np.exp(-distances / t) if t > 0 else np.ones_like(distances)
    W = csr_array((weights.ravel(), neighbours.ravel(), np.arange(n + 1) * k), shape=(n, n))
    return csr_array(W.maximum(W.T))


def cosine_graph(X: Array, n_neighbors: int, power: float = 1.0) -> csr_array:
    """Symmetric weights (n, n) among rows at unit length: powers of their cosines, at least 0.

    They are above 0 at most where one of the two rows is among the ``n_neighbors`` nearest of the other.
    """
    n, k = len(X), min(n_neighbors, len(X) - 1)
    if k < 1:
        return csr_array((n, n))
    neighbours = nearest_rows(X, k)
    weights = np.maximum(np.einsum("id,ikd->ik", X, X[neighbours]), 0) ** power
    W = csr_array((weights.ravel(), neighbours.ravel(), np.arange(n + 1) * k), shape=(n, n))
    return csr_array(W.maximum(W.T))


def laplacian(W: csr_array) -> csr_array:
    """``diag(W 1) - W``: its quadratic form is half the weighted sum of squared differences over all pairs."""
    return csr_array(diags_array(W.sum(axis=1)) - W)


class Smoothness:
    r"""``Z' H Z`` (r, r) for the Laplacian H of a graph that loses samples.

    It is the sum of :math:`w_{ij} (z_i - z_j)(z_i - z_j)'` over all edges, so when samples leave, only the edges
    that end in them are subtracted: the cost follows the number of those who leave, not of those who stay.
    """

    def __init__(self, W: csr_array, Z: Array) -> None:
        self._edges, self._Z = W.tocoo(), Z
        self.value = self._form(self._edges)

    def remove(self, samples: Labels) -> None:
        """Take the samples out of the graph, with their edges."""
        gone = np.zeros(len(self._Z), dtype=bool)
        gone[samples] = True
        rows, columns = self._edges.coords
        cut = gone[rows] | gone[columns]
        self.value -= self._form(self._select(cut))
        self._edges = self._select(~cut)

    def _select(self, chosen: NDArray[np.bool_]) -> coo_array:
        rows, columns = self._edges.coords
        return coo_array((self._edges.data[chosen], (rows[chosen], columns[chosen])), shape=self._edges.shape)

    def _form(self, edges: coo_array) -> Array:
        """The quadratic form of these edges alone."""
        nodes = np.unique(edges.coords[0])  # every edge is there in both directions
        Z = self._Z[nodes]
        return np.asarray(Z.T @ (laplacian(edges.tocsr()[nodes][:, nodes]) @ Z))


def nearest_rows(X: Array, k: int) -> Labels:
    """The k nearest other rows of every row; single precision decides, which is enough to rank distances."""
    X = np.asarray(X, dtype=np.float32)
    squares = np.einsum("ij,ij->i", X, X)
    neighbours = np.empty((len(X), k), dtype=np.int64)
    step = max(1, BLOCK_ENTRIES // len(X))
    for i in range(0, len(X), step):
        nearness = X[i : i + step] @ X.T
        nearness *= 2
        nearness -= squares  # |x_i|^2 is the same for the whole row
        rows = np.arange(len(nearness))
        nearness[rows, i + rows] = -np.inf
        neighbours[i : i + step] = top_k(nearness, k).classes
    return neighbours
