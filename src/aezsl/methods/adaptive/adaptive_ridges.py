"""ESZSL and ridge regression with weighted class tasks: one weighted ridge per target."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from aezsl.arrays import Array
from aezsl.kinds import Positive
from aezsl.methods.adaptive.adaptive import Adaptive
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.ridge import Ridge, nearest_prototype
from aezsl.methods.shared.local_ridges import LocalRidges


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
