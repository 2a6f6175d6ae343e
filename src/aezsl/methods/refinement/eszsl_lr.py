"""ESZSL followed by progressive label refinement."""

from aezsl.methods.refinement.aezsl_lr import AEZSLLR


class ESZSLLR(AEZSLLR):
    r"""ESZSL, then progressive label refinement: the paper's second half on its baseline.

    .. math::
        \min_P \tfrac12 \|X_l P - Y_l\|_F^2 + \tfrac{\gamma_1}2 \|X_u P - Y_u\|_{2,1}
        - \gamma_2 \mathrm{tr}(Y_u \hat S P' X_u') + \tfrac{\gamma_3}2 \mathrm{tr}(P' X_u' H_u X_u P)
        + \tfrac\nu2 \|P\|_F^2

    in every round, from the classifiers :math:`p_c = W a_c` of ESZSL. ``gamma`` and ``lam`` act as in ``ESZSL``, the
    rest as in ``LabelRefinement``. Any linear method is refined this way: a class like this one, with its name as
    ``base``.
    """

    base = "eszsl"
