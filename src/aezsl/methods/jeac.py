"""JEaC: signatures mapped among the features, so that they represent seen classes and clusters of the pool."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics, class_sums
from aezsl.kinds import Count, Positive, Seed
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.methods.shared.graph import whitened, whitening
from aezsl.methods.shared.linalg import row_space_eigh
from aezsl.methods.shared.prototypes import nearest, squared_distances, squared_error


class JEaC(TransductiveMethod):
    r"""Joint embedding and clustering, the semi-supervised method of Shojaee and Baghshah.

    One linear map D (a, d) takes signatures, the semantics of classes, to the features: those of seen classes to their
    samples X with labels Y, those of target classes A to the samples Z of the pool that are assigned to them by T,

    .. math::
        \min_{D, T} \|X - YSD\|_F^2 + \mathrm{lam}\, \|Z - TAD\|_F^2 + \mathrm{gam}\, \|D\|_F^2 ,
        \qquad T \text{ one-hot}

    Two steps in turn, neither of which raises the objective, until no label changes:

    .. math::
        D = (S'NS + \mathrm{lam}\, A'N_tA + \mathrm{gam}\, I)^{-1} (S'Y'X + \mathrm{lam}\, A'T'Z), \qquad
        T_i = \arg\min_c \|z_i - (AD)_c\|^2

    with N and N_t the class sizes: samples enter by class sums only. It starts from the map of the seen classes alone
    (``ridge``), or from clusters (``clusters``): k-means on seen and pool samples together, seen samples held in the
    clusters of their classes and one further cluster per new class, after which the samples of a cluster get the class
    whose mapped signature is nearest to its centre.

    Confirmed by the paper's abstract and first page: a linear map of signatures to deep visual features, seen samples
    near their mapped signatures and unlabelled ones near that of the class they are assigned to, found jointly,
    and a clustering that uses labelled and unlabelled samples. From knowledge of the paper: the squared loss as
    written, the alternation, clusters as the start. Weights were not to be found; they are searched.

    What differs: the start is ``ridge`` by default, which was better on validation classes of CUB. In the paper's
    clustering a seen sample may leave the cluster of its class at a price; here the price is infinite, so that class
    sums suffice and no training sample has to be kept with the model. Squared distances suit features whose classes
    are round; where images of a class differ more by something else, such as who drew them, that decides instead.
    ``shrinkage``, which is searched beside the paper's distances, gives less weight to what varies within seen classes.

    Parameters
    ----------
    lam : float
        Weight of the pool; must be positive.
    gam : float
        Weight of the map's norm; must be positive.
    shrinkage : float or None
        Distances, in the objective too, are those of the within-class covariance of the seen classes, shrunk towards a
        sphere by this much; None: of the features as they are, as in the paper.
    start : {"ridge", "clusters"}
        Where the first labels come from.
    seed : int
        Of the first centres of new clusters; for ``clusters`` only.
    max_rounds : int
        Rounds at most.

    """

    lam: Positive = 1.0
    gam: Positive = 1.0
    shrinkage: Positive | None = None
    start: Literal["ridge", "clusters"] = "ridge"
    seed: Seed = 0
    max_rounds: Count = 100

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "shrinkage": [None, 0.3],  # the paper's distances, and those of the seen classes' metric
        "lam": [0.1, 0.3, 1.0, 3.0],  # a sample of the pool against a seen one
        "gam": [1.0, 10.0, 30.0],  # for semantics of unit length
    }
    #: The map of the seen classes alone rules towards small lam.
    cautious_by: ClassVar[Mapping[str, int]] = {"lam": -1}
    citation: ClassVar[str] = (
        "S. M. Shojaee and M. Soleymani Baghshah. Semi-supervised zero-shot learning by a clustering-based approach. "
        "arXiv 1605.09016, 2016."
    )
    against_collapse: ClassVar[str] = "a smaller lam keeps the map nearer to that of the seen classes"

    S_: Array
    counts_: Labels
    sums_: Array
    energy_: float
    metric_: Array

    def _fit(self, seen: SeenData) -> None:
        self.metric_ = seen.once(("whitening", self.shrinkage), lambda: whitening(seen.statistics, self.shrinkage))
        self.S_, self.counts_ = seen.S, seen.statistics.counts
        self.sums_ = whitened(seen.statistics.sums, self.metric_)
        self.energy_ = seen.once("jeac", lambda: _sum_of_squares(seen.statistics))  # the metric keeps it

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[ScoringClassifier, LabelHistory]:
        pool = whitened(pool, self.metric_)
        # Outside of what the signatures span D is zero, so all happens on an orthonormal basis of it.
        basis, _ = row_space_eigh(np.vstack([self.S_, S_target]))
        S, A = self.S_ @ basis, S_target @ basis
        gram, right = (S.T * self.counts_) @ S + self.gam * np.eye(S.shape[1]), S.T @ self.sums_
        D: Array = solve(gram, right, assume_a="pos")
        history = LabelHistory(self._first_labels(pool, A @ D, S_target))
        for _ in range(self.max_rounds if len(pool) else 0):
            sizes = np.bincount(history.labels, minlength=len(A))
            sums = class_sums(pool, history.labels, len(A))
            D = solve(gram + self.lam * (A.T * sizes) @ A, right + self.lam * A.T @ sums, assume_a="pos")
            labels = nearest(pool, A @ D)
            settled = np.array_equal(labels, history.labels)
            seen_error = self.energy_ - 2 * np.vdot(D, right) + np.vdot(D, gram @ D)  # with the norm of D
            history.record(labels, objective=float(seen_error) + self.lam * squared_error(pool, A @ D, labels))
            if settled:
                break
        return ScoringClassifier(self, targets.S, {"signatures": A @ D}), history

    def _first_labels(self, pool: Array, signatures: Array, S_target: Array) -> Labels:
        if self.start == "ridge" or not len(pool):
            return nearest(pool, signatures)
        n_new = int((cdist(S_target, self.S_).min(axis=1) > 0).sum())
        clustering = cluster_with_seen(pool, self.counts_, self.sums_, n_new, self.seed, self.max_rounds)
        return nearest(clustering.centres, signatures)[clustering.clusters]

    def _scores(self, X: Array, signatures: Array) -> Array:  # type: ignore[override]
        return -squared_distances(whitened(X, self.metric_), signatures)


class Clustering(NamedTuple):
    """Centres (Cs + new, d), the pool's clusters (m,), and of every round the pool's error and what seen samples add.

    The seen samples' own spread is the same in every round and left out.
    """

    centres: Array
    clusters: Labels
    objectives: list[float]


def cluster_with_seen(Z: Array, counts: Labels, sums: Array, n_new: int, seed: int, max_rounds: int) -> Clustering:
    """k-means on the pool Z (m, d) and seen samples, known by class, which stay in the clusters of their classes."""
    from sklearn.cluster import kmeans_plusplus

    n_seen, n_new = len(counts), min(n_new, len(Z))
    means = sums / counts[:, None]
    new = kmeans_plusplus(Z, n_new, random_state=seed)[0] if n_new else np.empty((0, Z.shape[1]))
    centres = np.vstack([means, new])
    clusters = nearest(Z, centres)
    objectives: list[float] = []
    for _ in range(max_rounds):
        sizes = np.bincount(clusters, minlength=len(centres))
        added = class_sums(Z, clusters, len(centres))
        sizes[:n_seen] += counts
        added[:n_seen] += sums
        centres = np.where(sizes[:, None] > 0, added / np.maximum(sizes, 1)[:, None], centres)
        before, clusters = clusters, nearest(Z, centres)
        moved = float((counts * np.square(centres[:n_seen] - means).sum(axis=1)).sum())
        objectives.append(squared_error(Z, centres, clusters) + moved)
        if np.array_equal(before, clusters):
            break
    return Clustering(centres, clusters, objectives)


def _sum_of_squares(statistics: SeenStatistics) -> float:
    """The sum of squares of all entries of all samples."""
    if statistics.gram is not None:
        return float(statistics.gram.trace())
    assert statistics.rows is not None  # one of the two is always there
    return float(np.square(statistics.rows).sum())
