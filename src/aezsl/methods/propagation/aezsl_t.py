"""AEZSL or ESZSL, then balanced propagation on the test set."""

from aezsl.methods.propagation.propagated import PropagatedMethod


class AEZSLT(PropagatedMethod):
    r"""AEZSL, then balanced propagation: labels that suit scores, neighbours, classes and their totals together.

    .. math::
        \min_{R, M, q} \sum_{ic} r_{ic} \log r_{ic} - \beta \langle R, G \rangle
        + \tfrac\mu2 \bigl(m - \langle R, S R \rangle\bigr)
        - \gamma \sum_c \langle m_c, \kappa p_c + \textstyle\sum_i r_{ic} x_i \rangle
        + \tau\, \mathrm{KL}(R'1 \,\|\, m q), \qquad \textstyle\sum_c q_c^2 \le h

    over soft labels R of the pool, class directions M and shares q of the classes; symbols, derivation and limits stand
    in ``aezsl.methods.propagation.balanced``. So a pool may show only some of the classes: h, how unevenly they share
    it, is read off the likeness of its images (``aezsl.methods.propagation.shares``). What differs from the paper: its
    refinement moves confident labels round by round and lets hub classes grow; here classes share the pool, and every
    label is found together with its neighbours'. ``lambda1`` to ``lambda3`` act as in ``AEZSL``, the rest as in
    ``BalancedPropagation``.
    """

    base = "aezsl"


class ESZSLT(PropagatedMethod):
    r"""ESZSL, then balanced propagation: proof that any linear method can be the start.

    .. math:: G \propto X W A', \qquad W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}

    are the scores that balanced propagation starts from; its objective stands in ``AEZSLT``. What differs is the start
    alone. ``gamma`` and ``lam`` act as in ``ESZSL``, the rest as in ``BalancedPropagation``.
    """

    base = "eszsl"
