"""AEZSL_LR (one-step): AEZSL followed by a single update of all labels."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.refinement.aezsl_lr import AEZSLLR


class AEZSLLROneStep(AEZSLLR):
    r"""AEZSL_LR without its rounds: the whole pool is unconfident, one update, its best classes are the labels.

    .. math::
        \min_P \tfrac{\gamma_1}2 \|X P - Y\|_{2,1} - \gamma_2 \mathrm{tr}(Y \hat S P' X')
        + \tfrac{\gamma_3}2 \mathrm{tr}(P' X' H X P) + \tfrac\nu2 \|P\|_F^2

    The paper's special case to show what progress adds. Without a labelled term only the ratios of the weights
    count, so ``gamma1`` is not searched. Symbols and parameters as in ``AEZSLLR``.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"n_components": 256, "one_step": True}
    grid: ClassVar[Mapping[str, list[Any]]] = {
        "n_components": [128, 256, 512],  # principal axes of the pool: how freely P moves
        "gamma2": [0.0, 0.1],  # pull towards similar classes, relative to gamma1; zero: off
        "gamma3": [0.0, 0.1, 1.0],  # smoothness on the neighbourhood graph, likewise
    }
