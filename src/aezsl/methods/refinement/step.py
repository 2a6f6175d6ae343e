"""One round's convex problem of label refinement, on the coordinates of the pool."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from aezsl.arrays import Array, Labels
from aezsl.errors import DataError


class Weights(NamedTuple):
    """The weights of the objective and the smoothing of its row norms."""

    gamma1: float
    gamma2: float
    gamma3: float
    nu: float
    eps: float


class Minimum(NamedTuple):
    """Where the re-weighting ended."""

    B: Array  # (r, C) classifiers
    F: Array  # (u, C) scores of the unconfident samples
    objectives: list[float]  # after every re-weighting


class Step:
    r"""The update of the classifiers when L, U and the labels are given.

    .. math::
        \min_B \tfrac12 \|Z_l B - Y_l\|_F^2 + \tfrac{\gamma_1}2 \sum_{i \in U} \|z_i' B - y_i'\|_\epsilon
        - \gamma_2 \mathrm{tr}(Y_u \hat S B' Z_u') + \tfrac{\gamma_3}2 \mathrm{tr}(B' Z_u' H_u Z_u B)
        + \tfrac\nu2 \|B\|_F^2, \qquad \|q\|_\epsilon = \sqrt{\|q\|^2 + \epsilon^2}

    G = Zl'Zl (r, r), N = Zl'Yl (r, C) and the number of confident samples stand for L. ``labels`` must be sorted, so
    that the samples of a class are neighbouring rows of Z (u, r). K = Zu'HuZu (r, r), or None where it is not wanted.
    """

    def __init__(
        self,
        G: Array,
        N: Array,
        n_confident: int,
        Z: Array,
        labels: Labels,
        S_hat: Array,
        K: Array | None,
        weights: Weights,
    ) -> None:
        self.weights, self.Z, self.labels, self.n_confident = weights, Z, labels, n_confident
        self._rows = np.arange(len(Z))
        self._starts = np.searchsorted(labels, np.arange(len(S_hat) + 1))
        # What re-weighting leaves alone: the quadratic and the linear term of everything but the group lasso.
        self.A = G + weights.nu * np.eye(len(G))
        if K is not None:
            self.A += weights.gamma3 * K
        self.R = N
        if weights.gamma2 > 0:
            self.R = N + weights.gamma2 * (self._class_sums(np.ones(len(Z))).T @ S_hat)

    def minimise(self, F: Array, tol: float, max_iter: int) -> Minimum:
        """Re-weight, starting from scores F (u, C), until the objective falls by less than ``tol`` of its scale."""
        gamma1 = self.weights.gamma1
        scale = self.n_confident / 2 + gamma1 / 2 * len(self.Z)  # the objective at B = 0
        objectives: list[float] = []
        while True:
            d = 1 / (2 * self._row_norms(F))
            B = self.solve(gamma1 * d)
            F = self.Z @ B
            objectives.append(self.objective(B, F))
            settled = len(objectives) > 1 and objectives[-2] - objectives[-1] <= tol * scale
            # Without unconfident samples or group lasso, nothing is re-weighted: the first solution is exact.
            if settled or len(objectives) == max_iter or gamma1 == 0 or len(self.Z) == 0:
                return Minimum(B, F, objectives)

    def solve(self, d: Array) -> Array:
        """``(A + Z' diag(d) Z)^-1 (R + Z' diag(d) Y)``."""
        T = np.sqrt(d)[:, None] * self.Z
        A = self.A + T.T @ T  # one buffer times itself: BLAS computes only half of it
        try:
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise DataError(f"the refinement's linear system is singular at nu={self.weights.nu}: raise nu") from error
        return cho_solve(factor, self.R + self._class_sums(d).T, overwrite_b=True, check_finite=False)

    def objective(self, B: Array, F: Array) -> float:
        """The objective at classifiers B, whose scores of the unconfident samples are F."""
        smooth = np.sum(B * (self.A @ B)) / 2 - np.sum(B * self.R) + self.n_confident / 2
        return float(smooth + self.weights.gamma1 / 2 * self._row_norms(F).sum())

    def _row_norms(self, F: Array) -> Array:
        """Smoothed norms of the rows of ``F - Y``."""
        Q = F.copy()
        Q[self._rows, self.labels] -= 1
        norms: Array = np.sqrt(np.einsum("ij,ij->i", Q, Q) + self.weights.eps**2)
        return norms

    def _class_sums(self, d: Array) -> Array:
        """``Y' diag(d) Z`` (C, r)."""
        shape = (len(self._starts) - 1, len(d))
        return np.asarray(csr_array((d, self._rows, self._starts), shape=shape) @ self.Z)
