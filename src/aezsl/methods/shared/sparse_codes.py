"""Samples as sparse combinations of dictionary atoms: the lasso for all samples at once (UDA)."""

import numpy as np

from aezsl.arrays import Array, Mask
from aezsl.methods.shared.accelerated import minimise_rows


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
