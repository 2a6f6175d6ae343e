"""Labels that spread from class prototypes to samples along a neighbour graph of both."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from aezsl.arrays import Array, unit_rows
from aezsl.methods.propagation.neighbours import BLOCK_ENTRIES, exact_neighbours

#: Prototypes choose this many times as many neighbours as samples do, as in the code of Fu et al.
PROTOTYPE_SHARE = 3
#: The kernel's width is the median over all pairs of at most this many rows.
MEDIAN_ROWS = 1000


class Spread(NamedTuple):
    """What propagation found: the labels of its samples, and enough to score others.

    rows : samples, and behind them the prototypes, at unit length (m + C, a).
    labels : how much of every class has reached them (m + C, C).
    degrees : sums of their links (m + C,).
    width : of the kernel, a squared distance, as an array without dimensions.
    """

    rows: Array
    labels: Array
    degrees: Array
    width: Array


def spread_from_prototypes(B: Array, A: Array, k: int, alpha: float) -> Spread:
    r"""Spread the labels of prototypes A (C, a) to samples B (m, a), all of them at unit length.

    .. math:: F = (1 - \alpha) (I - \alpha D^{-1/2} K D^{-1/2})^{-1} L

    K is :math:`\exp(-\|r_i - r_j\|^2 / t)` from a sample to its k nearest others and from a prototype to three times as
    many, the mean of both directions; t is the median of squared distances, D the row sums of K, and L is one-hot at
    prototypes and zero at samples. The graph is sparse, and conjugate gradients solve the system.
    """
    rows = unit_rows(np.vstack([B, A]).astype(np.float64))
    width = _median_distance(rows)
    K = _links(rows, len(B), k, width)
    degrees = np.asarray(K.sum(axis=1), dtype=np.float64).ravel()
    scale = diags_array(_inverse_root(degrees))
    L = np.zeros((len(rows), len(A)))
    L[len(B) :] = (1 - alpha) * np.eye(len(A))
    return Spread(rows, _propagate(csr_array(alpha * (scale @ K @ scale)), L), degrees, np.array(width))


def spread_to(B: Array, spread: Spread, k: int) -> Array:
    """Scores (n, C) of samples that were not there: the labels of their k nearest rows, weighted as links are.

    A sample adds no link for others: the graph stays as it is. What nothing reaches goes by the cosines of prototypes.
    """
    C = spread.labels.shape[1]
    scaled = spread.labels * _inverse_root(spread.degrees)[:, None]
    k = min(k, len(spread.rows))
    scores = np.empty((len(B), C))
    step = max(1, BLOCK_ENTRIES // len(spread.rows))
    for i in range(0, len(B), step):
        rows = unit_rows(B[i : i + step])
        products = rows @ spread.rows.T
        near = np.argpartition(-products, k - 1, axis=1)[:, :k]
        weights = _kernel(2 - 2 * np.take_along_axis(products, near, axis=1), float(spread.width))
        reached = np.einsum("ij,ijc->ic", weights, scaled[near])
        reached *= _inverse_root(weights.sum(axis=1))[:, None]
        scores[i : i + step] = or_cosines(reached, products[:, -C:])
    return scores


def or_cosines(reached: Array, cosines: Array) -> Array:
    """What reached every row of samples (n, C), and the cosines of prototypes where nothing did."""
    return np.where(reached.any(axis=1, keepdims=True), reached, cosines)


def _median_distance(rows: Array) -> float:
    some = rows[np.unique(np.linspace(0, len(rows) - 1, MEDIAN_ROWS).astype(int))]
    squares = np.square(some).sum(axis=1)
    return float(np.median(np.maximum(squares[:, None] + squares - 2 * some @ some.T, 0)))


def _links(rows: Array, m: int, k: int, width: float) -> csr_array:
    n = len(rows)
    wide = min(PROTOTYPE_SHARE * k, n - 1)
    if wide < 1:
        return csr_array((n, n))
    near, cosines = exact_neighbours(rows, wide)
    weights = _kernel(2 - 2 * cosines.astype(np.float64), width)
    weights[:m, k:] = 0  # neighbours come nearest first
    K = csr_array((weights.ravel(), near.ravel(), np.arange(n + 1) * wide), shape=(n, n))
    K.eliminate_zeros()
    return csr_array((K + K.T) / 2)


def _kernel(distances: Array, width: float) -> Array:
    kernel: Array = np.exp(-np.maximum(distances, 0) / width) if width > 0 else np.ones_like(distances)
    return kernel


def _inverse_root(degrees: Array) -> Array:
    roots: Array = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    return roots


def _propagate(P: csr_array, L: Array, tol: float = 1e-10, max_iter: int = 1000) -> Array:
    """``(I - P)^-1 L`` for a symmetric P whose norm is below one: conjugate gradients on all columns at once."""
    F = np.zeros_like(L)
    residual, direction = L.copy(), L.copy()
    energy = np.square(residual).sum(axis=0)
    goal = tol**2 * energy
    for _ in range(max_iter):
        if (energy <= goal).all():
            break
        applied = direction - P @ direction
        going = energy > goal
        length = np.where(going, energy / np.where(going, (direction * applied).sum(axis=0), 1), 0)
        F += length * direction
        residual -= length * applied
        before, energy = energy, np.square(residual).sum(axis=0)
        direction = residual + np.where(before > 0, energy / np.where(before > 0, before, 1), 0) * direction
    return F
