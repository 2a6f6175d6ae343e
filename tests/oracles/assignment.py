"""Balanced assignment as the linear program that it is."""

import numpy as np
from scipy.optimize import linprog


def best_total(scores, lower, upper):
    """The largest sum of scores (m, C) over rows of sum one whose column sums keep the bounds, by HiGHS."""
    m, C = scores.shape
    rows = np.kron(np.eye(m), np.ones((1, C)))
    columns = np.kron(np.ones((1, m)), np.eye(C))
    found = linprog(
        -scores.ravel(),
        A_ub=np.vstack([columns, -columns]),
        b_ub=np.concatenate([np.broadcast_to(upper, C), -np.broadcast_to(lower, C)]),
        A_eq=rows,
        b_eq=np.ones(m),
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0
    return -found.fun
