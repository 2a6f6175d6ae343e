"""SJE with similarity-weighted class tasks per target."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.adaptive.ranking import AdaptiveRanking
from aezsl.methods.sje import SJE


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
