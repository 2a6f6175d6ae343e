"""The ridge from semantics to features with similarity-weighted class tasks per target."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from aezsl.arrays import Array
from aezsl.kinds import Positive
from aezsl.methods.adaptive.adaptive import Adaptive
from aezsl.methods.adaptive.local_ridges import LocalRidges
from aezsl.methods.base import Needs
from aezsl.methods.classifiers import LinearClassifier
from aezsl.methods.ridge import Ridge, nearest_prototype
from aezsl.methods.seen import SeenData
from aezsl.methods.targets import Targets


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

    lam: Positive = 10.0

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
