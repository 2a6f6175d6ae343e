"""SJE and DeViSE with weighted class tasks: one ranking loss per target."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.kinds import Count
from aezsl.machine.workers import run_side_by_side
from aezsl.methods.adaptive.adaptive import Adaptive
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.devise import DeViSE
from aezsl.methods.shared.linalg import row_space_eigh
from aezsl.methods.shared.ranking_sgd import RankingDescent, RankingMethod
from aezsl.methods.sje import SJE


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
