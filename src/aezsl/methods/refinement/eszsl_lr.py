"""ESZSL followed by progressive label refinement."""

from aezsl.methods.refinement.refined import RefinedMethod


class ESZSLLR(RefinedMethod):
    r"""ESZSL, then progressive label refinement: the paper's second half on its baseline.

    .. math:: p_c = W a_c, \qquad W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}

    are the classifiers that the rounds of ``LabelRefinement`` start from, whose objective stands there. ``gamma`` and
    ``lam`` act as in ``ESZSL``, the rest as in ``LabelRefinement``. Any linear method is refined this way: a class like
    this one, with its name as
    ``base``.
    """

    base = "eszsl"
