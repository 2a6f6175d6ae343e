"""Many small convex problems that share one quadratic form, solved side by side (mixtures, sparse codes)."""

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
