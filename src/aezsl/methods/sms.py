"""SMS: one space of class models for seen and target classes, learnt with the labels of the pool."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import class_sums
from aezsl.kinds import AtLeastOne, Count, Positive
from aezsl.machine.workers import small_products
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.methods.shared.assignment import balanced_assignment
from aezsl.methods.shared.linalg import row_space_eigh


class SMS(TransductiveMethod):
    r"""Shared model space: one map from semantics to class models, learnt from seen classes and the pool together.

    The model of a class with semantics s is Vs, V (d, a), for seen classes and targets alike. With seen samples X and
    their labels Y, the pool Z and its unknown labels T,

    .. math::
        \min_{V, T} \|XVS' - Y\|_F^2 + R(V; X, S) + \alpha \left( \|ZVA' - T\|_F^2 + R(V; Z, A) \right) ,
        \qquad T \text{ one-hot}

    where :math:`R(V; X, S) = \gamma \|VS'\|_F^2 + \lambda \|XV\|_F^2 + \gamma\lambda \|V\|_F^2` is ESZSL's penalty. Two
    steps in turn, neither of which raises the objective, until no label changes. V solves

    .. math::
        (X'X + \gamma I) V (S'S + \lambda I) + \alpha (Z'Z + \gamma I) V (A'A + \lambda I) = X'YS + \alpha Z'TA =: N ,

    and since :math:`\|s - t\|^2 = \|s\|^2 - 2 s_c + 1` for a one-hot t, the best T are the largest scores of
    :math:`ZVA'`. The first labels are those of :math:`\alpha = 0`, which is ESZSL.

    Both pairs of matrices can be diagonalised together: with :math:`P'(X'X + \gamma I)P = I`,
    :math:`P'(Z'Z + \gamma I)P = \mathrm{diag}(p)`, and Q and q likewise for the semantics,

    .. math:: V = P \left[ (P'NQ) / (1 + \alpha p q') \right] Q'

    So a round is a division and the class sums of ZP, and P serves every alpha, lam and round of a grid.

    Confirmed by the paper's abstract: models of classes generated from their attributes in a space shared by source
    and target classes, learnt jointly, with an algorithm that alternates models and labels of the target data.
    From knowledge of the paper: the quadratic loss, one-hot labels. Inferred: targets of 0 and 1, the start, and the
    penalty: with one on the norm of V alone the start is 2 points behind ESZSL on validation classes of CUB, and every
    round needs an iterative solver.

    What differs: ``balance``, our addition. As written above labels collapse: a class that has most samples is the
    cheapest answer for all of them (on CUB's validation classes often a single class is left). With it the
    size of every class stays within a factor ``spread`` of the mean, and T is the exact optimum under these bounds.
    ``balance: false`` is the method as published, as far as it is known.

    Parameters
    ----------
    alpha : float
        Weight of the pool; must be positive.
    gamma, lam : float, float
        Weights of the models' norm and of the mapped features' norm, as in ESZSL; must be positive.
    balance : bool
        Bound the number of samples per class.
    spread : float
        Bounds are the mean size of a class divided and multiplied by this; at least 1, for ``balance`` only.
    max_rounds : int
        Rounds at most.

    """

    alpha: Positive = 1.0
    gamma: Positive = 10.0
    lam: Positive = 0.3
    balance: bool = True
    spread: AtLeastOne = 2.0
    max_rounds: Count = 50

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "gamma": [1.0, 3.0, 10.0, 30.0],  # around what ESZSL takes, for features and semantics of unit length
        "lam": [0.3, 1.0, 3.0, 10.0],
        "alpha": [0.01, 0.1, 1.0, 10.0],  # a sample of the pool against a seen one; at the first it hardly counts
    }
    #: The map of the seen classes alone rules towards small alpha.
    cautious_by: ClassVar[Mapping[str, int]] = {"alpha": -1}
    citation: ClassVar[str] = (
        "Y. Guo, G. Ding, X. Jin and J. Wang. Transductive zero-shot recognition via shared model space learning. "
        "AAAI 2016."
    )
    against_collapse: ClassVar[str] = "balance: true bounds the sizes of classes"

    S_: Array
    gram_: Array
    sums_: Array
    n_: int

    def _fit(self, seen: SeenData) -> None:
        statistics = seen.statistics
        self.gram_ = seen.once("sms gram", lambda: statistics.second_moment)
        self.S_, self.sums_, self.n_ = seen.S, statistics.sums, statistics.n

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[LinearClassifier, LabelHistory]:
        seen = self.gram_  # who shares it is fitted to the same data
        features = targets.once(seen, ("sms features", self.gamma), lambda: self._feature_side(pool))
        semantics = targets.once(seen, ("sms semantics", self.lam), lambda: self._semantic_side(S_target))
        fixed = features.seen.T @ semantics.seen  # P'X'YSQ
        divisor = 1 + self.alpha * np.outer(features.shares, semantics.shares)
        V = fixed
        history = LabelHistory(self._labels(features.target @ (V @ semantics.target.T)))
        for _ in range(self.max_rounds if len(pool) else 0):
            V = (fixed + self.alpha * self._right(features, semantics, history.labels)) / divisor
            labels = self._labels(features.target @ (V @ semantics.target.T))
            settled = np.array_equal(labels, history.labels)
            right = fixed + self.alpha * self._right(features, semantics, labels)
            value = np.vdot(V, divisor * V - 2 * right) + self.n_ + self.alpha * len(pool)
            history.record(labels, objective=float(value))
            if settled:
                break
        return LinearClassifier(self, targets.S, features.axes @ (V @ semantics.target.T)), history

    def _feature_side(self, pool: Array) -> "Side":
        shares, P = common_axes(self.gram_, pool.T @ pool, self.gamma)
        return Side(shares, P, self.sums_ @ P, pool @ P)

    def _semantic_side(self, S_target: Array) -> "Side":
        basis, _ = row_space_eigh(np.vstack([self.S_, S_target]))  # outside of it V is zero
        S, A = self.S_ @ basis, S_target @ basis
        shares, Q = common_axes(S.T @ S, A.T @ A, self.lam)
        return Side(shares, basis @ Q, S @ Q, A @ Q)

    def _right(self, features: "Side", semantics: "Side", labels: Labels) -> Array:
        """P'Z'TAQ."""
        return class_sums(features.target, labels, len(semantics.target)).T @ semantics.target

    def _labels(self, scores: Array) -> Labels:
        """The best labels given the scores (m, C) of the pool."""
        if not self.balance:
            labels: Labels = scores.argmax(axis=1)
            return labels
        size = len(scores) / scores.shape[1]
        return balanced_assignment(scores, int(size / self.spread), int(np.ceil(size * self.spread)))


class Side(NamedTuple):
    """One side of the equation, features or semantics, on the axes (d, r) that both domains have in common.

    shares : how much of the target domain each axis has, against one of the seen domain (r,).
    seen, target : rows of the seen domain, sums of its classes or their semantics, and of the target domain.
    """

    shares: Array
    axes: Array
    seen: Array
    target: Array


def common_axes(first: Array, second: Array, ridge: float) -> tuple[Array, Array]:
    """Shares p (d,) and axes P (d, d): P'(first + ridge I)P is the identity, and P'(second + ridge I)P is diag(p)."""
    both = [product + ridge * np.eye(len(product)) for product in (second, first)]
    with small_products():
        p, P = eigh(*both, check_finite=False)
    return p, P
