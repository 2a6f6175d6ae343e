"""SMS: one space of class models for seen and target classes, learnt with the labels of the pool."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import class_sums
from aezsl.kinds import AtLeastOne, Count, Positive
from aezsl.methods.classifiers import LinearClassifier
from aezsl.methods.history import LabelHistory
from aezsl.methods.seen import SeenData
from aezsl.methods.shared.assignment import balanced_assignment
from aezsl.methods.shared.linalg import gram_eigh
from aezsl.methods.targets import Targets
from aezsl.methods.transductive import TransductiveMethod


class SMS(TransductiveMethod):
    r"""Shared model space: one map from semantics to class models, learnt from seen classes and the pool together.

    The model of a class with semantics s is Vs, V (d, a), for seen classes and targets alike. With seen samples X and
    their labels Y, the pool Z and its unknown labels T,

    .. math::
        \min_{V, T} \|XVS' - Y\|_F^2 + \alpha \|ZVA' - T\|_F^2 + \lambda \|V\|_F^2 , \qquad T \text{ one-hot}

    Two steps in turn, neither of which raises the objective, until no label changes. V solves

    .. math:: X'X V S'S + \alpha Z'Z V A'A + \lambda V = X'YS + \alpha Z'TA ,

    and since :math:`\|s - t\|^2 = \|s\|^2 - 2 s_c + 1` for a one-hot t, the best T are the largest scores of
    :math:`ZVA'`. The first labels are those of :math:`\alpha = 0`, which has a closed form.

    Samples enter V by X'X, Z'Z and class sums only. The equation has no common eigenbasis, so conjugate gradients solve
    it in the eigenbases of :math:`G = X'X + \alpha Z'Z` and of
    :math:`H = (\mathrm{tr} X'X\, S'S + \alpha\, \mathrm{tr} Z'Z\, A'A) / \mathrm{tr} G`, where
    :math:`G V H + \lambda V` is diagonal and close to it, from the solution of the round before.

    Confirmed by the paper's abstract: models of classes generated from their attributes in a space shared by source
    and target classes, learnt jointly, with an algorithm that alternates models and labels of the target data.
    From knowledge of the paper: the quadratic loss, the penalty, one-hot labels. Inferred: targets of 0 and 1, and the
    start.

    What differs: ``balance``, our addition. As written above labels collapse: a class that has most samples is the
    cheapest answer for all of them (on CUB's validation classes often a single class is left). With it the
    size of every class stays within a factor ``spread`` of the mean, and T is the exact optimum under these bounds.
    ``balance: false`` is the method as published, as far as it is known.

    Parameters
    ----------
    alpha : float
        Weight of the pool; must be positive.
    lam : float
        Weight of the norm of V; must be positive.
    balance : bool
        Bound the number of samples per class.
    spread : float
        Bounds are the mean size of a class divided and multiplied by this; at least 1, for ``balance`` only.
    max_rounds : int
        Rounds at most.

    """

    alpha: Positive = 10.0
    lam: Positive = 1.0
    balance: bool = True
    spread: AtLeastOne = 2.0
    max_rounds: Count = 50

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "alpha": [0.1, 1.0, 10.0],  # a sample of the pool against a seen one
        "lam": [1.0, 3.0, 10.0, 30.0],  # for features and semantics of unit length
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
    start_: Array
    n_: int

    def _fit(self, seen: SeenData) -> None:
        (U, l), (B, t) = seen.spectrum(), seen.semantic_spectrum()
        statistics = seen.statistics
        right = seen.once("sms", lambda: (statistics.sums @ U).T @ (seen.S @ B))
        self.start_ = U @ (right / (np.outer(l, t) + self.lam)) @ B.T
        self.gram_ = seen.once("sms gram", lambda: statistics.second_moment)
        self.S_, self.sums_, self.n_ = seen.S, statistics.sums, statistics.n

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[LinearClassifier, LabelHistory]:
        P: Array = self.start_ @ S_target.T
        history = LabelHistory(self._labels(pool @ P))
        if len(pool):
            domains = TwoDomains((self.gram_, self.S_), (pool.T @ pool, S_target), self.alpha, self.lam)
            V = domains.inside(self.start_)
        for _ in range(self.max_rounds if len(pool) else 0):
            sums = class_sums(pool, history.labels, len(S_target))
            V = domains.solve(domains.right(self.sums_, sums), V)
            P = domains.models(V)
            labels = self._labels(pool @ P)
            settled = np.array_equal(labels, history.labels)
            reached = domains.right(self.sums_, class_sums(pool, labels, len(S_target)))
            value = np.vdot(V, domains.apply(V) - 2 * reached) + self.n_ + self.alpha * len(pool)
            history.record(labels, objective=float(value))
            if settled:
                break
        return LinearClassifier(self, targets.S, P), history

    def _labels(self, scores: Array) -> Labels:
        """The best labels given the scores (m, C) of the pool."""
        if not self.balance:
            labels: Labels = scores.argmax(axis=1)
            return labels
        size = len(scores) / scores.shape[1]
        return balanced_assignment(scores, int(size / self.spread), int(np.ceil(size * self.spread)))


class TwoDomains:
    r"""The left side :math:`G_1 V S'S + \alpha G_2 V A'A + \lambda V`, in bases where it is nearly diagonal.

    A domain is the product X'X (d, d) of its samples and the semantics (C, a) of its classes. V is (r, q) there.
    """

    def __init__(
        self, seen: tuple[Array, Array], target: tuple[Array, Array], alpha: float, lam: float, tol: float = 1e-7
    ) -> None:
        (G1, S), (G2, A) = seen, target
        self.alpha, self.lam, self.tol = alpha, lam, tol
        self.U, l = gram_eigh(G1 + alpha * G2, len(G1))
        share = G1.trace() / l.sum()
        self.B, t = gram_eigh(share * S.T @ S + (1 - share) * A.T @ A, len(S) + len(A))
        self.G1, self.G2 = self.U.T @ G1 @ self.U, alpha * (self.U.T @ G2 @ self.U)
        self.S, self.A = S @ self.B, A @ self.B
        self.diagonal = np.outer(l, t) + lam

    def inside(self, V: Array) -> Array:
        """V (d, a) in the bases."""
        return self.U.T @ V @ self.B

    def models(self, V: Array) -> Array:
        """The models VA' (d, C) of the target classes."""
        return self.U @ (V @ self.A.T)

    def right(self, sums: Array, target_sums: Array) -> Array:
        """The right side, from the sums of the samples of every class in both domains."""
        return (sums @ self.U).T @ self.S + self.alpha * (target_sums @ self.U).T @ self.A

    def apply(self, V: Array) -> Array:
        """The left side."""
        left: Array = self.G1 @ (V @ self.S.T) @ self.S + self.G2 @ (V @ self.A.T) @ self.A + self.lam * V
        return left

    def solve(self, right: Array, V: Array, max_iter: int = 1000) -> Array:
        """The solution by preconditioned conjugate gradients from V, until the residual is ``tol`` times the right."""
        residual = right - self.apply(V)
        limit, step, slope = self.tol * float(np.linalg.norm(right)), np.zeros_like(V), np.inf
        for _ in range(max_iter):
            if np.linalg.norm(residual) <= limit:
                break
            scaled = residual / self.diagonal
            before, slope = slope, float(np.vdot(residual, scaled))
            step = scaled + (slope / before) * step
            image = self.apply(step)
            length = slope / np.vdot(step, image)
            V = V + length * step
            residual = residual - length * image
        return V
