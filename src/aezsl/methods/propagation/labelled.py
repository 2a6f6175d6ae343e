"""Training images as labelled nodes of the pool's graph: which of them, and what they say about the pool."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from aezsl.arrays import Array, Labels
from aezsl.methods.propagation.neighbours import neighbour_graph


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
