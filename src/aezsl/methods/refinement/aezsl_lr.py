"""AEZSL or ESZSL, then label refinement on the test set: the paper's AEZSL_LR and its variants."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.refinement.refined import RefinedMethod


class AEZSLLR(RefinedMethod):
    r"""AEZSL, then progressive label refinement of what it says about the pool.

    .. math::
        \min_P \tfrac12 \|X_l P - Y_l\|_F^2 + \tfrac{\gamma_1}2 \|X_u P - Y_u\|_{2,1}
        - \gamma_2 \mathrm{tr}(Y_u \hat S P' X_u') + \tfrac{\gamma_3}2 \mathrm{tr}(P' X_u' H_u X_u P)
        + \tfrac\nu2 \|P\|_F^2

    in every round, from the classifiers :math:`p_c = W_c a_c` of AEZSL. ``lambda1`` to ``lambda3`` and the other
    parameters of ``AEZSL`` act as there, the rest as in ``LabelRefinement``, which also says what differs from
    the paper.
    """

    base = "aezsl"


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


class ESZSLLR(RefinedMethod):
    r"""ESZSL, then progressive label refinement: the paper's second half on its baseline.

    .. math:: p_c = W a_c, \qquad W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}

    are the classifiers that the rounds of ``LabelRefinement`` start from, whose objective stands there. ``gamma`` and
    ``lam`` act as in ``ESZSL``, the rest as in ``LabelRefinement``. Any linear method is refined this way: a class like
    this one, with its name as
    ``base``.
    """

    base = "eszsl"
