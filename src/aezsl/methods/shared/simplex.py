"""Descriptions as mixtures of others: least squares on the probability simplex (SSE, JLSE)."""

import numpy as np

from aezsl.arrays import Array, Mask
from aezsl.methods.shared.accelerated import minimise_rows


def project_to_simplex(A: Array) -> Array:
    """The nearest point of the probability simplex to every row of A (Duchi et al., ICML 2008)."""
    u = -np.sort(-A, axis=1)
    excess = (np.cumsum(u, axis=1) - 1) / np.arange(1, A.shape[1] + 1)
    last = (u > excess).sum(axis=1, keepdims=True) - 1
    nearest: Array = np.maximum(A - np.take_along_axis(excess, last, axis=1), 0)
    return nearest


def simplex_mixtures(
    S: Array,
    B: Array,
    lam: float,
    start: Array | None = None,
    pull: Array | float = 0.0,
    tol: float = 1e-9,
    max_iter: int = 5000,
) -> Array:
    r"""Every row s of S as a convex combination z of the rows of B: Z (len(S), len(B)).

    .. math:: \min_{z \in \Delta} \tfrac12 \|s - B'z\|^2 + \tfrac\lambda2 \|z\|^2 - \mathrm{pull}'z

    A row that moves less than ``tol`` is done: mixtures of many classes have few parts, and most rows find them early.
    """
    gram = B @ B.T + lam * np.eye(len(B))
    linear = S @ B.T + pull
    begin = np.full(linear.shape, 1 / len(B)) if start is None else start
    rate = float(1 / np.linalg.norm(gram, 2))

    def is_moving(move: Array, _: Array) -> Mask:
        moving: Mask = np.abs(move).max(axis=1) >= tol
        return moving

    return minimise_rows(begin, gram, linear, rate, project_to_simplex, is_moving, max_iter)
