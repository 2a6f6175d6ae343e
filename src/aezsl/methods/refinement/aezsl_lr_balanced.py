"""AEZSL_LR with class-balanced confident sets, an extension of the paper's rule."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.refinement.aezsl_lr import AEZSLLR


class AEZSLLRBalanced(AEZSLLR):
    r"""AEZSL_LR whose rounds move the most confident samples of every class, not the most confident of all.

    .. math::
        \min_P \tfrac12 \|X_l P - Y_l\|_F^2 + \tfrac{\gamma_1}2 \|X_u P - Y_u\|_{2,1}
        - \gamma_2 \mathrm{tr}(Y_u \hat S P' X_u') + \tfrac{\gamma_3}2 \mathrm{tr}(P' X_u' H_u X_u P)
        + \tfrac\nu2 \|P\|_F^2

    as in ``AEZSLLR``. Not in the paper: the k places of a round go to the best sample of every predicted class, then to
    the second best, and so on. By confidence alone, hub classes, which attract samples of many others, fill the first
    confident sets, are learnt from them, and attract still more. It favours pools whose classes are of similar size.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"n_components": 256, "gamma1": 0.3, "balanced": True}
    # Without hubs to fear, labels may be given up more cheaply.
    grid: ClassVar[Mapping[str, list[Any]]] = {**AEZSLLR.grid, "gamma1": [0.3, 1.0, 3.0]}
