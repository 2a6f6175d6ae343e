"""Ridge regressions from semantics to vectors of the seen classes, one per target, each with weights of its own."""

from dataclasses import dataclass

import numpy as np

from aezsl.arrays import Array
from aezsl.machine.workers import run_side_by_side


@dataclass(frozen=True)
class LocalRidges:
    r"""What the regressions of all targets have in common along a grid of penalties.

    For a target with semantics a (r,), weights w (Cs,) and sizes n (Cs,) of the class tasks, the regression

    .. math:: \min_B \sum_j w_j (n_j \|B' s_j\|^2 - 2\, v_j' B' s_j) + \lambda \|B\|_F^2

    to any vectors :math:`v_j` gives :math:`B'a = \sum_j k_j v_j` with the coefficients
    :math:`k = \mathrm{diag}(w) S (S' \mathrm{diag}(w n) S + \lambda I)^{-1} a`, which do not depend on the vectors. One
    decomposition :math:`S' \mathrm{diag}(w n) S = V \mathrm{diag}(t) V'` per target, :math:`O(C r^3)` in all, serves
    every :math:`\lambda`.
    """

    weights: Array  # (C, Cs)
    S: Array  # (Cs, r) on a basis of its rows
    V: Array  # (C, r, r) eigenvectors
    t: Array  # (C, r) eigenvalues
    rotated: Array  # (C, r) target semantics on the eigenvectors

    @classmethod
    def decompose(cls, weights: Array, sizes: Array, S: Array, A: Array) -> "LocalRidges":
        """From weights (C, Cs), sizes (Cs,), and semantics S (Cs, r) and A (C, r) on a basis of the rows of S."""
        C, r = A.shape
        V, t, rotated = np.empty((C, r, r)), np.empty((C, r)), np.empty((C, r))

        def at_target(c: int) -> None:
            t[c], V[c] = np.linalg.eigh((S.T * (weights[c] * sizes)) @ S)
            rotated[c] = A[c] @ V[c]

        run_side_by_side(at_target, range(C))
        return cls(weights, S, V, t.clip(min=0), rotated)  # a Gram matrix has no negative eigenvalue; rounding does

    def coefficients(self, penalty: float) -> Array:
        """The coefficients k of all targets, as columns (Cs, C)."""
        solved = np.einsum("crk,ck->rc", self.V, self.rotated / (self.t + penalty))
        k: Array = (self.S @ solved) * self.weights.T
        return k


def local_coefficients(weights: Array, S: Array, A: Array, penalty: float) -> Array:
    r"""The coefficients (Cs, C) of ``LocalRidges`` for one penalty and sizes of one, where few weights are not zero.

    With m of them, :math:`k = h \circ (\mathrm{diag}(h) S S' \mathrm{diag}(h) + \lambda I)^{-1} (h \circ S a)` for
    :math:`h = \sqrt w`: a system of m instead of r equations per target, :math:`O(C m^3)` in all, and nothing is kept.
    """
    gram, products = S @ S.T, S @ A.T
    if (weights == weights[:1]).all():  # one mapping for all targets
        return _solved(weights[0], gram, products, penalty)
    k = np.empty((len(A), len(S)))

    def at_target(c: int) -> None:
        k[c] = _solved(weights[c], gram, products[:, c], penalty)

    run_side_by_side(at_target, range(len(A)))
    return k.T


def _solved(weights: Array, gram: Array, products: Array, penalty: float) -> Array:
    counted = np.flatnonzero(weights)
    h = np.sqrt(weights[counted])
    system = h[:, None] * gram[np.ix_(counted, counted)] * h
    system.flat[:: len(h) + 1] += penalty
    k = np.zeros_like(products)
    scale = h if products.ndim == 1 else h[:, None]
    k[counted] = scale * np.linalg.solve(system, scale * products[counted])
    return k
