"""AEZSL's idea on other losses: a sum over seen classes, solved for every target with weights of its own.

Ridge losses (ESZSL, ridge regression) have a closed form per target; ranking losses (SJE, DeViSE) are trained for each.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.kinds import Count, Positive
from aezsl.machine.workers import run_side_by_side
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.core.classifiers import LinearClassifier, TargetClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs, ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.devise import DeViSE
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.ridge import Ridge, nearest_prototype
from aezsl.methods.shared.linalg import row_space_eigh
from aezsl.methods.shared.local_ridges import LocalRidges
from aezsl.methods.shared.ranking_sgd import RankingDescent, RankingMethod
from aezsl.methods.shared.similarity import SimilarityWeights, Weighting
from aezsl.methods.sje import SJE


class Adaptive(ZeroShotClassifier):
    r"""Similarity-weighted class tasks for another method: one problem per target class t instead of one for all.

    .. math:: \min_\theta \sum_j \ell_j(\theta) + R(\theta) \quad \to \quad
        \min_{\theta_t} \sum_j w_{tj}\, \ell_j(\theta_t) + R(\theta_t)

    where :math:`\ell_j` is the part of the method's loss that is the task of the seen class j, and :math:`w_{tj}` says
    how much j resembles t (``shared.similarity``). The classifier of t is what the method makes of t with
    :math:`\theta_t`. With weights of one it is the method itself; with AEZSL's loss it is AEZSL_sim.

    It means something where class tasks share their parameters. Where each class has its own (one-vs-rest classifiers,
    and SynC, whose classifiers of seen classes are learnt freely), a weight would change nothing but how strongly that
    class's own classifier is regularised, so there is no adaptive one of those.

    A subclass defines ``_fit_tasks``, which learns what no target is needed for, and ``_adapt_weighted``.

    Parameters
    ----------
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives the method itself.

    """

    weighting: Weighting = "cosine_squared"

    citation: ClassVar[str] = f"{AEZSL.citation.removesuffix('.')}: its weights, here on another method's loss."
    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    S_: Array  # (Cs, a) seen semantics
    given_: Array  # (Cs, b) as they were given

    def _fit(self, seen: SeenData) -> None:
        self.S_, self.given_ = seen.S, seen.given
        self._fit_tasks(seen)

    def _adapt(self, targets: Targets) -> TargetClassifier:
        return self._adapt_weighted(targets, SimilarityWeights.for_seen(self.given_, self.weighting)(targets.given))

    def _fit_tasks(self, seen: SeenData) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit_tasks")

    def _adapt_weighted(self, targets: Targets, weights: Array) -> LinearClassifier:
        """The classifier of the targets, each with its row of the weights (C, Cs)."""
        raise TypeError(f"{type(self).__name__} must define _adapt_weighted")


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

    lam: Positive = 1.0

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


class AdaptiveRanking(Adaptive, RankingMethod):
    r"""A ranking method whose last passes are every target's own.

    .. math:: \min_{W_t} \frac1n \sum_j w_{tj} \sum_{i: y_i = j} \ell(W_t; x_i, j)

    where :math:`\ell` is the plain method's loss of a sample of class j, and the weights of a target are scaled to a
    mean of one over the samples, so that the rate means for all what it means for the plain method. There is no
    penalty: the start and the number of passes are the regularisation. So the first passes are those of the plain
    method, once for all targets, and only the last ``n_own_epochs`` of the ``n_epochs`` continue for each target from
    there, with its weights, over the same batches in the same order. With weights of one they are the plain method's.

    An adaptation costs ``n_own_epochs`` passes over the samples per target, which the model therefore keeps.
    """

    n_own_epochs: Count = 1

    X_: Array  # (n, d) samples, single precision
    y_: Labels  # (n,) their classes
    basis_: Array  # (a, r) of the rows of the class vectors
    start_: Array  # (d, r) the mapping after the passes that all targets share
    generator_: Labels  # the state of the random numbers then: the bytes of its JSON

    def _fit_tasks(self, seen: SeenData) -> None:
        self.X_ = seen.once("single precision", lambda: np.array(seen.X, dtype=np.float32))
        self.y_ = seen.once("own labels", seen.y.copy)  # the caller's array may change later
        self.basis_ = seen.once("class vectors", lambda: row_space_eigh(self.class_vectors(seen.S))[0])
        rng, descent = np.random.default_rng(self.random_state), self._descent()
        W = descent.start(self.basis_, rng)
        descent.descend(W, max(0, self.n_epochs - self.n_own_epochs), rng)
        self.start_ = W[0]
        self.generator_ = np.frombuffer(json.dumps(rng.bit_generator.state).encode(), dtype=np.uint8)

    def _descent(self) -> RankingDescent:
        vectors = self.class_vectors(self.S_)
        return RankingDescent.on_basis(self.X_, self.y_, vectors, self.basis_, **self.descent_settings())

    def _adapt_weighted(self, targets: Targets, weights: Array) -> LinearClassifier:
        vectors, descent = self.class_vectors(targets.S) @ self.basis_, self._descent()
        scale = (weights @ np.bincount(self.y_, minlength=len(self.S_)) / len(self.y_))[:, None]
        scaled = np.divide(weights, scale, out=np.zeros_like(weights), where=scale > 0)
        P = np.empty((self.start_.shape[0], len(vectors)))

        def at_target(c: int) -> None:
            rng, W = np.random.default_rng(), self.start_[None].copy()
            rng.bit_generator.state = json.loads(self.generator_.tobytes())
            descent.descend(W, min(self.n_epochs, self.n_own_epochs), rng, scaled[c])
            P[:, c] = W[0].astype(np.float64) @ vectors[c]

        run_side_by_side(at_target, range(len(vectors)))
        return LinearClassifier(self, targets.S, P)


class AdaptiveDeViSE(AdaptiveRanking, DeViSE):
    r"""DeViSE whose last passes are every target's own, with the samples of similar classes counting more.

    .. math::
        \min_{M_t} \frac1n \sum_i w_{t y_i} \sum_{c \ne y_i}
        \left\{ \mathrm{margin} - t_{y_i}' M_t x_i + t_c' M_t x_i \right\}_+, \quad t_c = s_c / \|s_c\|

    for every target t, by stochastic gradient descent from the mapping that all targets share; see ``AdaptiveRanking``.
    Everything else as in ``DeViSE``.

    Parameters
    ----------
    learning_rate, n_epochs, margin, violator, batch_size, random_state :
        As in ``DeViSE``; ``n_epochs`` are all passes, shared ones and the target's own.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives DeViSE.
    n_own_epochs : int
        The last passes, which are done for every target: the time of an adaptation grows with them.

    """

    # Fewer points than DeViSE's, since every one descends for every target.
    grid: ClassVar[Mapping[str, list[Any]]] = {"learning_rate": [0.1, 0.3, 1.0], "n_epochs": [3, 10, 30]}
    citation: ClassVar[str] = AdaptiveRanking.citation


class AdaptiveSJE(AdaptiveRanking, SJE):
    r"""SJE whose last passes are every target's own, with the samples of similar classes counting more.

    .. math::
        \min_{W_t} \frac1n \sum_i w_{t y_i}
        \max_c \left\{ \Delta(y_i, c) + F_t(x_i, s_c) - F_t(x_i, s_{y_i}) \right\}_+, \quad F_t(x, s) = x' W_t s

    for every target t, by stochastic gradient descent from the mapping that all targets share; see ``AdaptiveRanking``.
    Everything else as in ``SJE``.

    Parameters
    ----------
    learning_rate, n_epochs, batch_size, random_state :
        As in ``SJE``; ``n_epochs`` are all passes, shared ones and the target's own.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives SJE.
    n_own_epochs : int
        The last passes, which are done for every target: the time of an adaptation grows with them.

    """

    # Fewer rates than SJE's, since every point descends for every target.
    grid: ClassVar[Mapping[str, list[Any]]] = {"learning_rate": [0.3, 1.0, 3.0, 10.0], "n_epochs": [10, 30]}
    citation: ClassVar[str] = AdaptiveRanking.citation
