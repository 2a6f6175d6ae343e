"""AEZSL_LR: AEZSL followed by progressive label refinement."""

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
