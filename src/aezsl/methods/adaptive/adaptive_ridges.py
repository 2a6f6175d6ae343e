"""ESZSL and ridge regression with weighted class tasks: one weighted ridge per target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.linalg import eigh

from aezsl.arrays import Array
from aezsl.kinds import Positive
from aezsl.machine.workers import run_side_by_side
from aezsl.methods.adaptive.adaptive import Adaptive
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.ridge import Ridge, nearest_prototype


@dataclass(frozen=True)
class LocalRidges:
    r"""What the regressions of all targets have in common along a grid of penalties.

    For a target with semantics a (r,), weights w (Cs,) and sizes n (Cs,) of the class tasks, the regression

    .. math:: \min_B \sum_j w_j (n_j \|B' s_j\|^2 - 2\, v_j' B' s_j) + \lambda \|B\|_F^2

    to any vectors :math:`v_j` gives :math:`B'a = \sum_j k_j v_j` with the coefficients
    :math:`k = \mathrm{diag}(w) S (S' \mathrm{diag}(w n) S + \lambda I)^{-1} a`, which do not depend on the vectors. One
    decomposition :math:`S' \mathrm{diag}(w n) S = V \mathrm{diag}(t) V'` per target, :math:`O(C r^3)` in all, serves
    every :math:`\lambda`.
    """

    weights: Array  # (C, Cs)
    S: Array  # (Cs, r) on a basis of its rows
    V: Array  # (C, r, r) eigenvectors
    t: Array  # (C, r) eigenvalues
    rotated: Array  # (C, r) target semantics on the eigenvectors

    @classmethod
    def decompose(cls, weights: Array, sizes: Array, S: Array, A: Array) -> "LocalRidges":
        """From weights (C, Cs), sizes (Cs,), and semantics S (Cs, r) and A (C, r) on a basis of the rows of S."""
        C, r = A.shape
        V, t, rotated = np.empty((C, r, r)), np.empty((C, r)), np.empty((C, r))

        def at_target(c: int) -> None:
            t[c], V[c] = eigh((S.T * (weights[c] * sizes)) @ S)
            rotated[c] = A[c] @ V[c]

        run_side_by_side(at_target, range(C))
        return cls(weights, S, V, t.clip(min=0), rotated)  # a Gram matrix has no negative eigenvalue; rounding does

    def coefficients(self, penalty: float) -> Array:
        """The coefficients k of all targets, as columns (Cs, C)."""
        solved = np.einsum("crk,ck->rc", self.V, self.rotated / (self.t + penalty))
        k: Array = (self.S @ solved) * self.weights.T
        return k


class AdaptiveRidge(Adaptive):
    r"""The ridge from semantics to features with similarity-weighted classes: a local regression per target.

    .. math:: \min_{D_t} \sum_j w_{tj} \sum_{i: y_i = j} \|x_i - D_t's_j\|^2 + \lambda \|D_t\|_F^2

    for every target t, whose prototype is :math:`D_t'a_t`: regression that listens most to the classes nearby.

    Exact. Beyond the plain ridge it costs one decomposition of the size of S's rank per target, which a grid shares.

    Parameters
    ----------
    lam : float
        Weight of the maps' norm; must be positive.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives the plain ridge.

    """

    lam: Positive = 3.0

    # The plain method's.
    grid: ClassVar[Mapping[str, list[float]]] = Ridge.grid
    needs: ClassVar[Needs] = "statistics"

    Q_: Array  # (a, r) orthonormal basis of the rows of S
    sums_: Array  # (Cs, d) of the samples of every class
    counts_: Array  # (Cs,)

    def _fit_tasks(self, seen: SeenData) -> None:
        self.Q_, _ = seen.semantic_spectrum()
        self.sums_, self.counts_ = seen.statistics.sums, seen.statistics.counts.astype(np.float64)

    def _adapt_weighted(self, targets: Targets, weights: Array) -> LinearClassifier:
        def decompose() -> LocalRidges:
            return LocalRidges.decompose(weights, self.counts_, self.S_ @ self.Q_, targets.S @ self.Q_)

        ridges = targets.once(self.S_, ("adaptive_ridge", self.weighting), decompose)
        return nearest_prototype(self, targets.S, self.sums_.T @ ridges.coefficients(self.lam))


class AdaptiveESZSL(Adaptive, LinearZeroShotClassifier):
    r"""ESZSL with similarity-weighted class tasks: AEZSL's weights under ESZSL's form of regularisation.

    .. math::
        \min_{W_t} \sum_j w_{tj} \left( \|X W_t s_j - y_j\|^2 + \gamma \|W_t s_j\|^2 \right)
        + \lambda \left( \|X W_t\|_F^2 + \gamma \|W_t\|_F^2 \right)

    for every target t, where the task of the seen class j is to tell its samples, y_j (n,) the column of the one-hot
    labels, by a classifier :math:`W_t s_j` whose norm counts. The gradient vanishes at

    .. math:: W_t = (X'X + \gamma I)^{-1} X'Y D_t S (S' D_t S + \lambda I)^{-1}, \qquad D_t = \mathrm{diag}(w_t)

    so the classifier of t combines the ridge classifiers of the seen classes, :math:`(X'X + \gamma I)^{-1} X'Y`, with
    the coefficients of a locally weighted regression, :math:`D_t S (S' D_t S + \lambda I)^{-1} a_t`. It differs from
    AEZSL_sim in the regulariser alone.

    Exact. Beyond ESZSL it costs one decomposition of the size of S's rank per target, which a grid shares.

    Parameters
    ----------
    gamma : float
        Weight of the classifiers' norm; must be positive.
    lam : float
        Weight of the mapped features' norm; must be positive.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives ESZSL.

    """

    gamma: Positive = 10.0
    lam: Positive = 0.1

    # ESZSL's.
    grid: ClassVar[Mapping[str, list[float]]] = ESZSL.grid
    needs: ClassVar[Needs] = "statistics"

    Q_: Array  # (a, r) orthonormal basis of the rows of S
    seen_classifiers_: Array  # (d, Cs) of the seen classes, by ridge regression

    def _fit_tasks(self, seen: SeenData) -> None:
        self.Q_, _ = seen.semantic_spectrum()
        self.seen_classifiers_ = seen.once(("ridge classifiers", self.gamma), lambda: self._ridge_classifiers(seen))

    def _ridge_classifiers(self, seen: SeenData) -> Array:
        U, l = seen.spectrum()
        M = seen.once("U'X'Y", lambda: (seen.statistics.sums @ U).T)
        found: Array = U @ (M / (l + self.gamma)[:, None])
        return found

    def _adapt_weighted(self, targets: Targets, weights: Array) -> LinearClassifier:
        def decompose() -> LocalRidges:
            return LocalRidges.decompose(weights, np.ones(len(self.S_)), self.S_ @ self.Q_, targets.S @ self.Q_)

        ridges = targets.once(self.S_, ("adaptive_eszsl", self.weighting), decompose)
        return LinearClassifier(self, targets.S, self.seen_classifiers_ @ ridges.coefficients(self.lam))
