"""ESZSL followed by balanced propagation on the pool."""

from aezsl.methods.propagation.propagated import PropagatedMethod


class ESZSLT(PropagatedMethod):
    r"""ESZSL, then balanced propagation: proof that any linear method can be the start.

    .. math:: G \propto X W A', \qquad W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}

    are the scores that balanced propagation starts from; its objective stands in ``AEZSLT``. What differs is the start
    alone. ``gamma`` and ``lam`` act as in ``ESZSL``, the rest as in ``BalancedPropagation``.
    """

    base = "eszsl"
