"""AMP: similarity along the manifold of class prototypes, by an absorbing Markov chain."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import solve
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.special import softmax

from aezsl.arrays import Array, Mask, unit_rows
from aezsl.errors import ParameterError
from aezsl.evaluation.ranking import top_k
from aezsl.kinds import Count, CountOrNone, Positive
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linear_models import softmax_models


class AMP(ZeroShotClassifier):
    r"""Semantic manifold distance: similarity along the manifold of class prototypes, by an absorbing Markov chain.

    Classes are the nodes of a graph: the seen ones transient states, the targets absorbing ones. Seen classes are
    linked where one is among the ``k_seen`` nearest of the other, and every target to its ``k_unseen`` nearest seen
    classes; targets are not linked with each other. Weights are cosines of the semantics, and a walk leaves a class in
    proportion to them, with probabilities Q (Cs, Cs) to seen classes and R (Cs, C) to targets. An image is one more
    transient state, from which the walk goes to ``n_links`` seen classes with probabilities T (m, Cs). The score of
    a class is the probability that the walk ends there:

    .. math:: p(x) = T(x) (I - Q)^{-1} R, \qquad \hat z(x) = \arg\max_z p_z(x)

    in closed form, the chain being solved once for all images. T holds the largest of

    * ``sr`` (semantic relatedness): the probabilities of a logistic regression on the seen classes,
    * ``se`` (semantic embedding): the cosines between seen classes and the image's projection f(x) into semantic
      space, divided by their sum,
    * ``both``: their mean, which the paper reports as its method.

    With ``k_seen`` 0 the walk goes straight from seen classes to targets, p = TR, a combination of seen classes as in
    ConSE.

    Checked against the full paper: the graph, its weights and both numbers of neighbours, the canonical form (an
    image leads to seen classes only), T in its three kinds. Its values are, for attributes of AwA (40 seen
    classes), ``k_seen`` 2, ``k_unseen`` 8 and ``n_links`` 4, for word vectors there 3, 4 and 10, on ImageNet 10, 20
    and 10.

    What differs: f is ridge regression in closed form,

    .. math:: f(x) = x'W, \qquad \min_W \sum_i \|x_i'W - s_{y_i}\|^2 + \lambda \|W\|_F^2 ,

    where the paper takes DeViSE. Negative cosines count as zero, and seen classes from which no target can be reached
    are not linked to images; the paper leaves both open. Rows of T are divided by their sum, which changes no
    decision. Targets may contain seen classes, which are then absorbing states beside the transient ones.

    ``variant`` "direct" is not the paper's: seen classes and images choose their ``k_seen`` nearest seen and target
    classes, with weights :math:`\exp(-\|s_i - s_j\|^2 / \sigma^2)`, images by f(x) alone, so that the walk
    can also step from an image to a target. Widths are relative to the mean squared distance between a seen class and
    its nearest. On three folds of CUB's validation classes its best of 36 settings reached 50.1, 43.9 and 36.0%
    (``k_seen`` 50, widths 0.8 and 0.2), the paper's version 43.8, 38.1 and 34.7 with ``k_unseen`` 4 and defaults, and
    44.4, 41.5 and 34.9 with ``k_seen`` 10.

    Parameters
    ----------
    k_seen : int
        Seen neighbours of a seen class; 0 for none.
    k_unseen : int
        Seen neighbours of a target class, at least 1.
    n_links : int
        Seen classes to which an image is linked, at least 1.
    links : {"sr", "se", "both"}
        How images are linked to seen classes.
    lam : float
        Weight of the projection's norm; must be positive.
    C : float
        Inverse strength of the logistic regression's penalty; must be positive.
    variant : {"paper", "direct"}
        The chain.
    bandwidth, image_bandwidth : float, float
        Widths of the kernel between classes, and between images and classes; positive, for ``direct`` only.

    """

    k_seen: CountOrNone = 2
    k_unseen: Count = 8
    n_links: Count = 4
    links: Literal["sr", "se", "both"] = "both"
    lam: Positive = 1.0
    C: Positive = 1.0
    variant: Literal["paper", "direct"] = "paper"
    bandwidth: Positive = 0.8
    image_bandwidth: Positive = 0.2

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "k_seen": [2, 10],
        "k_unseen": [4, 8],
        "n_links": [4, 10],
        "links": ["sr", "se", "both"],
    }
    citation: ClassVar[str] = (
        "Z. Fu, T. Xiang, E. Kodirov and S. Gong. Zero-shot object recognition by semantic manifold distance. "
        "CVPR 2015."
    )

    needs: ClassVar[Needs] = "samples"

    S_: Array
    map_: Array
    W_: Array
    b_: Array
    scale_: float

    def check_parameters(self) -> None:
        """Refuse, beside single values, the variant that needs a neighbour and is given none."""
        super().check_parameters()
        if self.variant == "direct" and not self.k_seen:
            raise ParameterError("variant='direct' needs k_seen of at least 1, got 0: set it by set_params(k_seen=...)")

    def _fit(self, seen: SeenData) -> None:
        U, l = seen.spectrum()
        right = seen.once("amp", lambda: U.T @ (seen.statistics.sums.T @ seen.S))
        self.S_ = seen.S
        self.map_ = U @ (right / (l + self.lam)[:, None])
        neighbours = np.sort(cdist(self.S_, self.S_, "sqeuclidean"), axis=1)[:, 1 : self.k_seen + 1]
        self.scale_ = float(neighbours.mean()) if neighbours.any() else 1.0  # all classes alike: any width will do
        if (
            self.links == "se" or self.variant == "direct"
        ):  # no classifier of the seen classes is needed, which costs more than all the rest
            self.W_, self.b_ = np.zeros((seen.n_features, 0)), np.zeros(0)
        else:
            self.W_, self.b_ = seen.once("softmax", lambda: softmax_models(seen.X, seen.y))(self.C)

    def steps(self, S_target: Array) -> tuple[Array, Array]:
        """Transition probabilities Q (Cs, Cs) among seen classes and R (Cs, C) from them to the targets."""
        if self.variant == "direct":
            away = cdist(self.S_, self.S_, "sqeuclidean")
            np.fill_diagonal(away, np.inf)
            return self._gaussian_steps(away, cdist(self.S_, S_target, "sqeuclidean"), self.bandwidth)
        among = cosines(self.S_, self.S_)
        np.fill_diagonal(among, 0)
        near = _largest(among, self.k_seen)
        towards = cosines(S_target, self.S_)
        Q, R = np.where(near | near.T, among, 0), np.where(_largest(towards, self.k_unseen), towards, 0).T
        total = Q.sum(axis=1, keepdims=True) + R.sum(axis=1, keepdims=True)
        total[total == 0] = 1  # a class without any edge leads nowhere
        return Q / total, R / total

    def _gaussian_steps(self, to_seen: Array, to_target: Array, bandwidth: float) -> tuple[Array, Array]:
        """As ``steps`` by squared distances, to the nearest seen and the nearest target classes of every row."""
        nearest = np.minimum(to_seen.min(axis=1), to_target.min(axis=1))[:, None]
        width = bandwidth**2 * self.scale_
        q = np.where(_largest(-to_seen, self.k_seen), np.exp((nearest - to_seen) / width), 0)
        # The floor keeps every walk absorbed where all targets are so far away that their weights vanish.
        near = np.maximum(np.exp((nearest - to_target) / width), 1e-9)
        r = np.where(_largest(-to_target, self.k_seen), near, 0)
        total = q.sum(axis=1, keepdims=True) + r.sum(axis=1, keepdims=True)
        return q / total, r / total

    def absorption(self, S_target: Array) -> Array:
        """Probabilities B (Cs, C) that a walk from each seen class ends in each target; rows sum to one, or to zero
        where no target can be reached.
        """
        Q, R = self.steps(S_target)
        part = connected_components(Q, directed=False)[1]
        reaches = np.isin(part, part[R.any(axis=1)])
        B = np.zeros_like(R)
        B[reaches] = solve(np.eye(reaches.sum()) - Q[np.ix_(reaches, reaches)], R[reaches], check_finite=False)
        return B

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return {"prototypes": S_target, "absorbed": self.absorption(S_target.astype(np.float64))}

    def image_links(self, X: Array, usable: Mask) -> Array:
        """Probabilities T (m, Cs) to step from an image to each seen class, of the usable ones."""
        T = np.zeros((len(X), len(self.S_)))
        if self.links != "se":
            T += softmax(X @ self.W_ + self.b_, axis=1)
        if self.links != "sr":
            nearness = cosines(X @ self.map_, self.S_)
            T += nearness / np.maximum(nearness.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        T[:, ~usable] = 0
        T[~_largest(T, self.n_links)] = 0
        total = T.sum(axis=1, keepdims=True)
        linked: Array = T / np.where(total > 0, total, 1)
        return linked

    def _scores(self, X: Array, prototypes: Array, absorbed: Array) -> Array:  # type: ignore[override]
        if self.variant == "direct":
            f = X @ self.map_
            to_seen, to_target = (cdist(f, classes, "sqeuclidean") for classes in (self.S_, prototypes))
            q, r = self._gaussian_steps(to_seen, to_target, self.image_bandwidth)
            return r + q @ absorbed
        return self.image_links(X, absorbed.max(axis=1) > 0) @ absorbed


def cosines(A: Array, B: Array) -> Array:
    """Cosine similarities of rows; what points apart has none."""
    similarities: Array = np.maximum(unit_rows(A) @ unit_rows(B).T, 0)
    return similarities


def _largest(A: Array, k: int) -> Mask:
    """Where the k largest entries of every row are; of equal ones the first."""
    chosen = np.zeros(A.shape, dtype=bool)
    if k:
        np.put_along_axis(chosen, top_k(A, k).classes, True, axis=1)
    return chosen
