"""Descriptions as mixtures of others: least squares on the probability simplex (SSE, JLSE)."""

import numpy as np

from aezsl.arrays import Array


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

    Accelerated projected gradients on all rows at once. A row whose momentum points uphill loses it and
    gathers it again (O'Donoghue and Candes, 2015), and one that moves less than ``tol`` is done: mixtures of many
    classes have few parts, and most rows find theirs early.
    """
    gram = B @ B.T + lam * np.eye(len(B))
    linear = S @ B.T + pull
    rate = 1 / np.linalg.norm(gram, 2)
    Z = np.full(linear.shape, 1 / len(B)) if start is None else start.copy()
    rows = np.arange(len(S))
    z = ahead = Z
    momentum = np.ones((len(S), 1))
    for _ in range(max_iter):
        new = project_to_simplex(ahead - rate * (ahead @ gram - linear[rows]))
        move = new - z
        uphill = ((ahead - new) * move).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z, ahead, momentum = new, new + (momentum - 1) / faster * move, faster
        Z[rows] = z
        moving = np.abs(move).max(axis=1) >= tol
        if not moving.any():
            break
        if not moving.all():
            rows, z, ahead, momentum = rows[moving], z[moving], ahead[moving], momentum[moving]
    return Z
