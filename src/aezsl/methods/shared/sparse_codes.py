"""Samples as sparse combinations of dictionary atoms: the lasso for all samples at once (UDA)."""

import numpy as np

from aezsl.arrays import Array


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

    gram is G (a, a), linear the rows h (m, a), start the rows to begin with. Accelerated proximal gradients on all rows
    at once. A row whose momentum points uphill loses it and gathers it again (O'Donoghue and Candes, 2015), one
    that moves less than ``tol`` times the largest entry is done, and one that ended above its start stays there: no row
    ever rises.
    """
    rate = float(1 / max(np.linalg.norm(gram, 2), np.finfo(np.float64).tiny))
    found = start.copy()
    rows = np.arange(len(start))
    b = ahead = found
    momentum = np.ones((len(start), 1))
    for _ in range(max_iter):
        new = _shrunk(ahead - rate * (ahead @ gram - linear[rows]), rate * l1 / 2, nonnegative)
        move = new - b
        uphill = ((ahead - new) * move).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        b, ahead, momentum = new, new + (momentum - 1) / faster * move, faster
        found[rows] = b
        moving = np.abs(move).max(axis=1) > tol * np.abs(found).max(initial=np.finfo(np.float64).tiny)
        if not moving.any():
            break
        if not moving.all():
            rows, b, ahead, momentum = rows[moving], b[moving], ahead[moving], momentum[moving]
    rose = _values(found, gram, linear, l1) > _values(start, gram, linear, l1)
    return np.where(rose[:, None], start, found)


def _shrunk(B: Array, by: float, nonnegative: bool) -> Array:
    shrunk: Array = np.maximum(B - by, 0) if nonnegative else np.sign(B) * np.maximum(np.abs(B) - by, 0)
    return shrunk


def _values(B: Array, gram: Array, linear: Array, l1: float) -> Array:
    values: Array = np.einsum("ij,ij->i", B, B @ gram - 2 * linear) + l1 * np.abs(B).sum(axis=1)
    return values
