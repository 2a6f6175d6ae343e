"""DeViSE with similarity-weighted class tasks per target."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.adaptive.ranking import AdaptiveRanking
from aezsl.methods.devise import DeViSE


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
