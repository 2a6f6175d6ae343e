"""Mixtures and sparse codes of many samples side by side, by accelerated projected gradients."""

from collections.abc import Callable

import numpy as np

from aezsl.arrays import Array, Mask


def minimise_rows(
    start: Array,
    gram: Array,
    linear: Array,
    rate: float,
    proximal: Callable[[Array], Array],
    is_moving: Callable[[Array, Array], Mask],
    max_iter: int,
) -> Array:
    r"""The rows z of :math:`\min_z \tfrac12 z' G z - z' h + g(z)`, by accelerated proximal gradients on all of them.

    A row whose momentum points uphill loses it and gathers it again (O'Donoghue and Candes, 2015), and one that has
    settled is done: the others continue without it.

    start : rows (m, a) to begin with. gram : G (a, a). linear : the rows h (m, a). rate : length of a step, at most one
    over the largest eigenvalue of G. proximal : the proximal map of ``rate`` times g, for example the projection onto a
    set. is_moving : which rows have not settled, from their last move and from all rows as they are.
    """
    found = start.copy()
    rows = np.arange(len(found))
    z = ahead = found
    momentum = np.ones((len(found), 1))
    for _ in range(max_iter):
        new = proximal(ahead - rate * (ahead @ gram - linear[rows]))
        move = new - z
        uphill = ((ahead - new) * move).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z, ahead, momentum = new, new + (momentum - 1) / faster * move, faster
        found[rows] = z
        moving = is_moving(move, found)
        if not moving.any():
            break
        if not moving.all():
            rows, z, ahead, momentum = rows[moving], z[moving], ahead[moving], momentum[moving]
    return found


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


def sparse_codes(
    gram: Array,
    linear: Array,
    l1: float,
    start: Array,
    nonnegative: bool,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> Array:
    r"""The rows b of :math:`\min_B \sum_i b_i' G b_i - 2 b_i' h_i + l_1 \|b_i\|_1`, nonnegative if asked for.

    gram is G (a, a), linear the rows h (m, a), start the rows to begin with. A row that moves less than ``tol`` times
    the largest entry is done, and one that ended above its start stays there: no row ever rises.
    """
    tiny = float(np.finfo(np.float64).tiny)
    rate = 1 / max(float(np.linalg.norm(gram, 2)), tiny)

    def is_moving(move: Array, found: Array) -> Mask:
        moving: Mask = np.abs(move).max(axis=1) > tol * np.abs(found).max(initial=tiny)
        return moving

    def shrink(B: Array) -> Array:
        return _shrunk(B, rate * l1 / 2, nonnegative)

    found = minimise_rows(start, gram, linear, rate, shrink, is_moving, max_iter)
    rose = _values(found, gram, linear, l1) > _values(start, gram, linear, l1)
    return np.where(rose[:, None], start, found)


def _shrunk(B: Array, by: float, nonnegative: bool) -> Array:
    shrunk: Array = np.maximum(B - by, 0) if nonnegative else np.sign(B) * np.maximum(np.abs(B) - by, 0)
    return shrunk


def _values(B: Array, gram: Array, linear: Array, l1: float) -> Array:
    values: Array = np.einsum("ij,ij->i", B, B @ gram - 2 * linear) + l1 * np.abs(B).sum(axis=1)
    return values
