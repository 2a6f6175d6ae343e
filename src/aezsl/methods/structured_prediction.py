"""Structured prediction: the pool's clusters, each tied to the place where a class's semantics put it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.data.statistics import class_sums
from aezsl.kinds import Count, NotNegative, Positive, Seed
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.methods.shared.graph import whitened, whitening
from aezsl.methods.shared.prototypes import nearest, signature_map, squared_distances, squared_error


class StructuredPrediction(TransductiveMethod):
    r"""Zero-shot recognition via structured prediction, the transductive method of Zhang and Saligrama.

    Samples of the pool form compact clusters in a latent space, but the places predicted from semantics are off.
    With Gaussian classes around means P and a Gaussian prior of the means around the predicted places :math:`P^0`, the
    most probable labels and means of the whole pool solve

    .. math::
        \min_{y, P, \pi} \sum_i \|z_i - P_{y_i}\|^2 + \kappa \sum_c \|P_c - P^0_{\pi(c)}\|^2

    with :math:`\pi` a permutation: one cluster per class. Every round is a block of descent each: :math:`P_c` is the
    mean of its samples and of ``kappa`` copies of :math:`P^0_c`, clusters are matched with classes at the least total
    distance, samples take the nearest :math:`P_c`. It ends when no label changes. A class without samples stays at
    :math:`P^0_c`. ``kappa`` 0 is k-means from :math:`P^0`, a large one the nearest predicted place; between the two
    a class of many samples moves to them while those of few are held back, and may lose what they have. With
    ``unit_length`` samples, places and means all lie on the unit sphere: the best :math:`P_c` is the direction of that
    mean. (A mean of unit vectors is shorter than they are, the more so the more samples it is of; left as it is, large
    clusters would be near to everything and small ones, kept at their place, far from it.)

    The latent space is ``visual``, where :math:`P^0 = A D` by the ridge regression D from semantics to features,

    .. math:: D = (S'NS + \mathrm{gam}\, I)^{-1} S'Y'X, \qquad N = \mathrm{diag}(Y'1)

    or ``semantic``, where :math:`P^0 = A` and samples are mapped by the ridge regression from features to semantics,
    both relative to the mean of the seen classes (``centre``).

    Confirmed by the paper's abstract and introduction: batch prediction at test time for the whole pool, compact
    clusters whose predicted places are off, MAP estimation with Gaussian parameters. Confirmed by a later paper's
    restatement and code (Wang and Breckon, AAAI 2020): as many clusters as classes, one-to-one matching of least
    total distance, unit length, k-means that starts at the predicted places. From knowledge of the paper or inferred:
    the objective as written above, with its prior weight, and the order of the steps.

    What differs: the paper learns a bilinear similarity of its own (as in JLSE) as the base, here it is a ridge
    regression, because the clustering is what this method adds and features of today cluster well as they are.
    Matching is a step of the descent instead of one at the end, so that one objective stands behind all rounds.
    Clusters must be those of classes: where images of a class differ more by something else, such as who drew them,
    ``shrinkage`` gives that less weight. It is a similarity learnt on seen classes, as the paper's is, and searched
    beside plain distances.

    Parameters
    ----------
    gam : float
        Weight of the base regression's norm; must be positive.
    kappa : float
        Weight of the predicted places, in samples per class; not negative.
    space : {"visual", "semantic"}
        Where samples and classes are compared.
    unit_length : bool
        Bring samples, predicted places and means to unit length.
    centre : bool
        Semantics are relative to the mean of the seen ones; for ``semantic`` only.
    shrinkage : float or None
        Distances are those of the within-class covariance of the seen classes, shrunk towards a sphere by this much;
        None: of the features as they are. For ``visual`` only.
    match : bool
        Match clusters with classes in every round. It assumes that most target classes occur in the pool.
    start : {"prototypes", "clusters"}
        Clusters start at the predicted places, or are found by k-means from random starts and then matched.
    n_init, seed : int, int
        Random starts of k-means, of which the best is used, and their seed; for ``clusters`` only.
    max_rounds : int
        Rounds at most.

    """

    gam: Positive = 10.0
    kappa: NotNegative = 0.0
    space: Literal["visual", "semantic"] = "visual"
    unit_length: bool = True
    centre: bool = True
    shrinkage: Positive | None = None
    match: bool = True
    start: Literal["prototypes", "clusters"] = "prototypes"
    n_init: Count = 10
    seed: Seed = 0
    max_rounds: Count = 100

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "shrinkage": [None, 0.3],  # the paper's distances, and those of the seen classes' metric
        "gam": [1.0, 10.0, 30.0],  # for semantics of unit length
        "kappa": [0.0, 10.0, 50.0],  # against the samples of a class
    }
    #: Prototypes stay nearer to their predicted places the larger kappa is.
    cautious_by: ClassVar[Mapping[str, int]] = {"kappa": 1}
    citation: ClassVar[str] = "Z. Zhang and V. Saligrama. Zero-shot recognition via structured prediction. ECCV 2016."
    against_collapse: ClassVar[str] = (
        "kappa: 0 leaves every cluster to its samples, a much larger one keeps classes where their semantics put them"
    )

    map_: Array
    mean_: Array
    metric_: Array

    def _fit(self, seen: SeenData) -> None:
        self.mean_ = seen.S.mean(axis=0) if self.centre and self.space == "semantic" else np.zeros(seen.S.shape[1])
        shrinkage = self.shrinkage if self.space == "visual" else None
        self.metric_ = seen.once(("whitening", shrinkage), lambda: whitening(seen.statistics, shrinkage))
        if self.space == "visual":
            self.map_ = whitened(signature_map(seen.S, seen.statistics, self.gam), self.metric_)
        else:
            U, l = seen.spectrum()
            goals = self.places(seen.S)
            self.map_ = U @ ((U.T @ (seen.statistics.sums.T @ goals)) / (l + self.gam)[:, None])

    def places(self, S: Array) -> Array:
        """Where classes with semantics S (C, a) are expected in the latent space."""
        P0 = S @ self.map_ if self.space == "visual" else S - self.mean_
        return unit_rows(P0) if self.unit_length else P0

    def latent(self, X: Array) -> Array:
        """Samples X (m, d) in the latent space."""
        Z = whitened(X, self.metric_) if self.space == "visual" else X @ self.map_
        return unit_rows(Z) if self.unit_length else Z

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[ScoringClassifier, LabelHistory]:
        P0, Z = self.places(S_target), self.latent(pool)
        P = P0 if self.start == "prototypes" or not len(Z) else self._clusters(Z, P0)
        history = LabelHistory(nearest(Z, P))
        for _ in range(self.max_rounds if len(Z) else 0):
            P = self._means(Z, history.labels, P0)
            labels = nearest(Z, P)
            settled = np.array_equal(labels, history.labels)
            history.record(labels, objective=self.objective(Z, labels, P, P0))
            if settled:
                break
        return ScoringClassifier(self, targets.S, {"prototypes": P}), history

    def objective(self, Z: Array, labels: Labels, P: Array, P0: Array) -> float:
        """What the rounds minimise, for samples in the latent space and clusters in the order of their classes."""
        return squared_error(Z, P, labels) + self.kappa * float(np.square(P - P0).sum())

    def _means(self, Z: Array, labels: Labels, P0: Array) -> Array:
        """The means P given the labels, in the order of the classes they are matched with."""
        sums = class_sums(Z, labels, len(P0)) + self.kappa * P0
        if self.unit_length:
            P: Array = np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), P0)
        else:
            weights = np.bincount(labels, minlength=len(P0))[:, None] + self.kappa
            P = np.where(weights > 0, sums / np.where(weights > 0, weights, 1), P0)
        if not self.match:
            return P
        distances = squared_distances(P0, P)
        classes, clusters = linear_sum_assignment(distances)
        gain = distances.trace() - distances[classes, clusters].sum()
        return P[clusters] if gain > 1e-12 * distances.max() else P  # on ties every cluster keeps its class

    def _clusters(self, Z: Array, P0: Array) -> Array:
        """Centres by k-means at the places of their classes; classes without one, if samples are few, stay."""
        from sklearn.cluster import KMeans

        n_clusters = min(len(P0), len(np.unique(Z, axis=0)))
        centres = KMeans(n_clusters, n_init=self.n_init, random_state=self.seed).fit(Z).cluster_centers_
        classes, clusters = linear_sum_assignment(squared_distances(P0, centres))
        P = P0.copy()
        P[classes] = centres[clusters]
        return P

    def _scores(self, X: Array, prototypes: Array) -> Array:  # type: ignore[override]
        return -squared_distances(self.latent(X), prototypes)
