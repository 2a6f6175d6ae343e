"""Class hierarchies: hops between classes, and hierarchical precision@K.

A hierarchy is a list of edges between node names, (parent, child) or any order: distance is the number of edges of the
shortest path in the undirected graph. Classes are some of its nodes; paths lead through the others too.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from aezsl.arrays import Labels
from aezsl.errors import DataError
from aezsl.evaluation.ranking import Ranking

Indices = NDArray[np.int64]

#: The K of hierarchical precision@K (at K = 1 it is hit@1).
HP_KS = (2, 5, 10, 20)

#: Sources searched together times nodes of the graph: a visited flag each, so 16 MB.
BLOCK_ENTRIES = 16_000_000


@dataclass(frozen=True)
class Hierarchy:
    """An undirected graph over named nodes; the neighbours of node i are ``indices[indptr[i] : indptr[i + 1]]``."""

    names: NDArray[np.str_]  # (N,) sorted
    indptr: Indices
    indices: Indices

    @classmethod
    def from_edges(cls, edges: ArrayLike) -> Self:
        """The graph of pairs of names (m, 2); repeated edges, either direction, and loops do no harm."""
        pairs = np.asarray(edges, dtype=np.str_)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
            raise DataError(f"edges must be pairs of names, expected shape (m, 2), got {pairs.shape}")
        names, nodes = np.unique(pairs, return_inverse=True)
        one, other = nodes.reshape(-1, 2).T
        ends = np.concatenate([one, other]), np.concatenate([other, one])
        graph = coo_array((np.ones(2 * len(one), dtype=np.int32), ends), shape=(len(names), len(names))).tocsr()
        return cls(names, graph.indptr.astype(np.int64), graph.indices.astype(np.int64))

    def nodes(self, names: ArrayLike) -> Indices:
        """The node numbers of names; -1 for a name that is not a node."""
        wanted = np.asarray(names, dtype=np.str_)
        at = np.minimum(np.searchsorted(self.names, wanted), len(self.names) - 1)
        return np.where(self.names[at] == wanted, at, -1)

    def neighbours(self, nodes: Indices) -> tuple[Indices, Indices]:
        """All neighbours of many nodes: for each the position in ``nodes`` it belongs to, and its number."""
        starts, counts = self.indptr[nodes], np.diff(self.indptr)[nodes]
        owners = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return owners, self.indices[starts[owners] + within]


def hops(edges: ArrayLike | Hierarchy, seen: ArrayLike, k: int) -> NDArray[np.str_]:
    """Names of the nodes at 1 to k edges from the nearest seen class, sorted, without the seen classes themselves.

    The published "2-hop" and "3-hop" lists of ImageNet mean at most one and two edges in this count. Intersect with the
    classes there are images of.
    """
    graph = _hierarchy(edges)
    start = graph.nodes(seen)
    if (start < 0).any():
        first = np.asarray(seen)[start < 0][0]
        raise DataError(
            f"{(start < 0).sum()} of {len(start)} seen classes are not nodes of the hierarchy, the first is "
            f"{str(first)!r}: add their edges, or leave them out"
        )
    reached = np.zeros(len(graph.names), dtype=bool)
    reached[start] = True
    frontier = np.unique(start)
    for _ in range(k):
        neighbours = graph.neighbours(frontier)[1]
        frontier = np.unique(neighbours[~reached[neighbours]])
        reached[frontier] = True
    reached[start] = False
    return graph.names[reached]


@dataclass(frozen=True)
class FeasibleSets:
    """The feasible sets of every class for every K up to ``k``, in one sparse matrix.

    The sets of a class are nested: each K adds whole rings of equal distance. So a class c near y needs one number,
    the least K whose set :math:`S_K(y)` holds c, which is 1 + the number of classes nearer to y than c.
    Row y holds the columns ``classes[indptr[y] : indptr[y + 1]]``, sorted; it is empty where y was not asked for.
    A class that is not a node of the hierarchy is near to itself only; ``outside`` lists these, for callers to report.
    """

    k: int
    indptr: Indices  # (C + 1,)
    classes: NDArray[np.int32]
    least_k: NDArray[np.int32]
    outside: Indices

    def feasible(self, y: int, k: int) -> Labels:
        """The feasible set of class y for K = k, sorted."""
        self._check(np.array([y]), k)
        row = slice(self.indptr[y], self.indptr[y + 1])
        return self.classes[row][self.least_k[row] <= k]

    def contain(self, true: Labels, classes: Labels, k: int) -> NDArray[np.bool_]:
        """Which of the classes (n, ...) are in the feasible set of their sample's true class (n,), for K = k."""
        self._check(true, k)
        n_classes = len(self.indptr) - 1
        keys = (
            np.repeat(np.arange(n_classes), np.diff(self.indptr)) * n_classes + self.classes
        )  # sorted by construction
        wanted = true.astype(np.int64)[:, None] * n_classes + classes
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        contained: NDArray[np.bool_] = (keys[at] == wanted) & (self.least_k[at] <= k)
        return contained

    def _check(self, true: Labels, k: int) -> None:
        if not 1 <= k <= self.k:
            raise DataError(f"feasible sets were computed for K of 1 to {self.k}, got {k}")
        unknown = np.diff(self.indptr)[true] == 0
        if unknown.any():
            raise DataError(f"the feasible set of class {true[unknown][0]} was not computed; add it to `only`")


def feasible_sets(
    edges: ArrayLike | Hierarchy, candidates: ArrayLike, k: int = max(HP_KS), only: Labels | None = None
) -> FeasibleSets:
    """The candidates nearest to every class: grow the radius, add every candidate at it, stop at k or more.

    candidates: (C,) names, numbered as the target classes. only: the classes to do it for, all unless given
    (those that occur as true labels are enough). Breadth-first search from a block of classes at once; those that
    have enough candidates, or no node left to visit, drop out.
    """
    graph = _hierarchy(edges)
    nodes = graph.nodes(candidates)
    repeated = len(nodes) - len(np.unique(np.asarray(candidates, dtype=np.str_)))
    if repeated:
        raise DataError(f"candidates must differ, got {repeated} repeated names")
    wanted = np.zeros(len(nodes), dtype=bool)
    wanted[slice(None) if only is None else only] = True
    alone = np.flatnonzero(wanted & (nodes < 0))
    sources = np.flatnonzero(wanted & (nodes >= 0))
    class_of = np.full(len(graph.names), -1)
    class_of[nodes[nodes >= 0]] = np.flatnonzero(nodes >= 0)

    step = max(1, BLOCK_ENTRIES // len(graph.names))
    visited = np.zeros((min(step, len(sources)), len(graph.names)), dtype=bool)
    blocks = [_search(graph, class_of, nodes, sources[i : i + step], k, visited) for i in range(0, len(sources), step)]
    blocks.append((alone, alone, np.ones(len(alone), dtype=np.int64)))
    rows, classes, least_k = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.lexsort((classes, rows))
    return FeasibleSets(
        k=k,
        indptr=np.append(0, np.cumsum(np.bincount(rows, minlength=len(nodes)))),
        classes=classes[order].astype(np.int32),
        least_k=least_k[order].astype(np.int32),
        outside=np.flatnonzero(nodes < 0),
    )


def _search(
    graph: Hierarchy, class_of: Indices, nodes: Indices, sources: Indices, k: int, visited: NDArray[np.bool_]
) -> tuple[Indices, Indices, Indices]:
    """Feasible sets of the source classes as triples (source, class, least K); ``visited`` is working memory."""
    visited[:] = False
    seen = visited.reshape(-1)  # row * n_nodes + node: one number per pair of source and node
    n_nodes = visited.shape[1]
    row, node = np.arange(len(sources)), nodes[sources]
    seen[row * n_nodes + node] = True
    counts = np.zeros(len(sources), dtype=np.int64)
    found = []
    while len(row):
        ring = class_of[node]
        is_class = ring >= 0
        found.append((sources[row[is_class]], ring[is_class], counts[row[is_class]] + 1))
        counts += np.bincount(row[is_class], minlength=len(counts))
        wanting = counts[row] < k
        owners, node = graph.neighbours(node[wanting])
        keys = row[wanting][owners] * n_nodes + node
        keys = np.unique(keys[~seen[keys]])
        seen[keys] = True
        row, node = np.divmod(keys, n_nodes)
    rows, classes, least_k = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, classes, least_k


def hierarchical_precision(true: Labels, ranking: Ranking, feasible: FeasibleSets, k: int) -> float:
    r"""Mean over samples of :math:`|\text{top}_K \cap S_K(y)| / K`; the last ring may make the set larger than K."""
    if k > ranking.classes.shape[1]:
        raise DataError(f"hP@{k} needs the {k} best classes, this ranking holds {ranking.classes.shape[1]}")
    return float(np.mean(feasible.contain(true, ranking.classes[:, :k], k)))


def _hierarchy(edges: ArrayLike | Hierarchy) -> Hierarchy:
    return edges if isinstance(edges, Hierarchy) else Hierarchy.from_edges(edges)
