r"""The AEZSL equations, solved exactly: pure functions on arrays.

Setting the gradient of the objective to zero gives, for all targets c together,

.. math:: L W_c (T_c + \lambda_1 I) + \gamma W_c T_c + (\lambda_2 + (C-1)\lambda_3) W_c
    = N_c + \lambda_3 \sum_{j \ne c} W_j

with :math:`L = X'X`, :math:`T_c = S' \mathrm{diag}(s_c^2) S` and :math:`N_c = X'Y \mathrm{diag}(s_c^2) S`. Everything
here is written on the eigenvectors U of L (features), on a basis of the rows of S (semantics), and per target on the
eigenvectors of :math:`T_c = V_c \mathrm{diag}(t_c) V_c'`. None of the three depends on a lambda or on gamma. The
weights :math:`s_c^2` come from ``shared.similarity``: squared cosines, or other numbers that are not negative.

With :math:`k = \lambda_2 + C \lambda_3`, :math:`D_c = 1 / (l (t_c + \lambda_1)' + \gamma t_c' + k)` and the sum
:math:`Z = \sum_j W_j`, every mapping is :math:`W_c = ((N_c + \lambda_3 Z) V_c * D_c) V_c'`, and Z solves

.. math:: \frac1C \sum_c (Z V_c * E_c) V_c' = \sum_c (N_c V_c * D_c) V_c', \qquad
          E_c = (l (t_c + \lambda_1)' + \gamma t_c' + \lambda_2) * D_c

which is one small system per eigenvalue of L. The left side is written without the difference
:math:`I - \lambda_3 \sum_c M_c^{-1}`, which cancels to noise when :math:`\lambda_3` is large.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from aezsl.arrays import Array
from aezsl.errors import ParameterError
from aezsl.machine.workers import n_threads, run_side_by_side

MB = 2**20
#: Rows of the features' eigenbasis handled together: large enough for BLAS, small enough for the caches.
ROWS = 128
#: Arrays of the size rows x targets x r that one block of rows needs at once.
BLOCK_ARRAYS = 5


class Lambdas(NamedTuple):
    """The weights of the objective's regularisers."""

    lambda1: float
    lambda2: float
    lambda3: float
    gamma: float = 0.0

    def stiffness(self, l: Array, t: Array) -> Array:
        """``l (t + lambda1)' + gamma t' + lambda2`` (q, n): the equations without what couples the targets."""
        found: Array = np.multiply.outer(l + self.gamma, t)
        found += (self.lambda1 * l + self.lambda2)[:, None]
        return found

    def shifts(self, l: Array, n_targets: int) -> tuple[Array, Array, Array]:
        """Of every row its scale ``l + gamma``, and what t is shifted by once divided by it, uncoupled and coupled."""
        scale = l + self.gamma
        tau = (self.lambda1 * l + self.lambda2) / scale
        return scale, tau, tau + n_targets * self.lambda3 / scale

    def check(self) -> None:
        """Refuse what leaves the mappings undetermined."""
        if self.lambda2 + self.lambda3 == 0:
            raise ParameterError(
                "lambda2 + lambda3 must be positive: without both, directions that no sample has are undetermined "
                "in every mapping and the equations are singular; use lambda2 > 0"
            )
        if self.lambda1 + self.lambda2 == 0:
            raise ParameterError(
                "lambda1 + lambda2 must be positive: lambda3 ties the mappings to each other but bounds none, so "
                "semantics and features alone would have to make the equations regular; use lambda2 > 0"
            )


@dataclass(frozen=True)
class ReducedSeen:
    """All that the objective sees of the training data, on the eigenvectors U of X'X and a basis Q of S's rows."""

    l: Array  # (q,) eigenvalues of X'X
    M: Array  # (q, Cs) U'X'Y
    S: Array  # (Cs, r) semantics S Q
    counts: Array  # (Cs,) samples per class: the diagonal of Y'Y


@dataclass(frozen=True)
class TargetSpectra:
    """The targets' weights and decompositions, in the semantic basis that makes the mean of all T_c diagonal."""

    weights: Array  # (C, Cs) s_c^2
    basis: Array  # (r, r) from the basis of ReducedSeen to this one
    S: Array  # (Cs, r) seen semantics
    A: Array  # (C, r) target semantics
    V: Array  # (r, C r) eigenvectors of all T_c side by side
    t: Array  # (C r,) their eigenvalues
    t_mean: Array  # (r,) eigenvalues of the mean of all T_c
    NV: Array | None  # (q, C r) all N_c V_c side by side, where the memory budget allows to keep them

    @property
    def shape(self) -> tuple[int, int]:
        """Number of targets and rank of the semantics."""
        return self.A.shape[0], self.A.shape[1]


def spectra_mb(n_targets: int, rank: int) -> float:
    """Memory of the eigenvectors of n_targets targets and of one narrow block of work on them."""
    return 8 * n_targets * rank * (rank + 16 * BLOCK_ARRAYS) / MB


def decompose_targets(seen: ReducedSeen, weights: Array, A: Array, memory_mb: float) -> TargetSpectra:
    """One eigen-decomposition per target; weights (C, Cs) s_c^2, A (C, r) target semantics."""
    C, r = A.shape
    t_mean, basis = eigh((seen.S.T * weights.mean(axis=0)) @ seen.S)
    S, A = seen.S @ basis, A @ basis
    V, t = np.empty((r, C, r)), np.empty((C, r))

    def decompose(c: int) -> None:
        t[c], V[:, c] = eigh((S.T * weights[c]) @ S)

    run_side_by_side(decompose, range(C))
    # A Gram matrix has no negative eigenvalue; rounding does.
    t, t_mean = t.clip(min=0).reshape(C * r), t_mean.clip(min=0)
    targets = TargetSpectra(weights, basis, S, A, V.reshape(r, C * r), t, t_mean, None)
    room = memory_mb - spectra_mb(C, r) - 8 * BLOCK_ARRAYS * ROWS * n_threads() * C * r / MB
    if 8 * len(seen.l) * C * r / MB > room:
        return targets
    NV = _rotated_rhs(seen, targets, slice(None))
    return TargetSpectra(weights, basis, S, A, targets.V, t, t_mean, NV)


def _rotated_rhs(seen: ReducedSeen, targets: TargetSpectra, rows: slice) -> Array:
    """The rows of all N_c V_c side by side, (rows, C r)."""
    if targets.NV is not None:
        return targets.NV[rows]
    C, r = targets.shape
    M = seen.M[rows]
    NV = np.empty((len(M), C * r))
    for c in range(C):
        block = slice(c * r, (c + 1) * r)
        np.matmul((M * targets.weights[c]) @ targets.S, targets.V[:, block], out=NV[:, block])
    return NV


def _blocks(seen: ReducedSeen, targets: TargetSpectra, memory_mb: float) -> Iterator[slice]:
    """Blocks of rows whose work arrays, on all threads, fit into what the eigenvectors leave of the budget."""
    C, r = targets.shape
    kept = 8 * C * r * (r + (0 if targets.NV is None else len(seen.l))) / MB
    rows = int((memory_mb - kept) * MB / (8 * BLOCK_ARRAYS * C * r * n_threads()))
    step = min(max(rows, 16), ROWS)
    return (slice(i, min(i + step, len(seen.l))) for i in range(0, len(seen.l), step))


def solve_targets(
    seen: ReducedSeen, targets: TargetSpectra, lambdas: Lambdas, tol: float, max_iter: int, memory_mb: float
) -> tuple[Array, Array]:
    """The sum Z (q, r) of all mappings and the classifiers W_c a_c (q, C), without building any W_c."""
    lambda3 = lambdas.lambda3
    C, r = targets.shape
    V, a = targets.V, np.einsum("rcj,cr->cj", targets.V.reshape(r, C, r), targets.A)
    Z, P = np.zeros((len(seen.l), r)), np.empty((len(seen.l), C))
    unsolved: list[int] = []

    def solve_block(rows: slice) -> None:
        l = seen.l[rows]
        NV = _rotated_rhs(seen, targets, rows)
        stiffness = lambdas.stiffness(l, targets.t)
        D = 1 / (stiffness + C * lambda3)
        W = NV * D  # W_c V_c, but for the part that all targets share
        if lambda3 > 0:
            stiffness *= D
            stiffness /= C
            mean = lambdas.stiffness(l, targets.t_mean)
            Z[rows], failed = _conjugate_gradients(V, stiffness, W @ V.T, 1 + C * lambda3 / mean, tol, max_iter)
            unsolved.append(failed)
            D *= Z[rows] @ V
            D *= lambda3
            W += D
        P[rows] = np.einsum("icj,cj->ic", W.reshape(len(l), C, r), a)

    run_side_by_side(solve_block, _blocks(seen, targets, memory_mb))
    if any(unsolved):
        warnings.warn(
            f"{sum(unsolved)} of {len(seen.l)} systems did not reach tol={tol} in max_iter={max_iter} iterations; "
            "raise max_iter or tol, or check the scale of the features",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Z, P


def _conjugate_gradients(
    V: Array, E: Array, B: Array, inverse_mean: Array, tol: float, max_iter: int
) -> tuple[Array, int]:
    r"""Solve ``((Z V) * E) V' = B`` row by row, by conjugate gradients on all rows side by side.

    V (r, C r), E (rows, C r), B (rows, r). The preconditioner is the same operator with every target's matrix
    replaced by their mean, whose inverse is the elementwise product with ``inverse_mean`` (rows, r).
    A row stops when the energy norm of its error has fallen by ``tol``; the others continue without it.

    Returns Z (rows, r) and how many rows did not get there.
    """
    Z = np.zeros_like(B)
    active = np.arange(len(B))
    R = B
    Q = direction = inverse_mean * R
    energy = np.einsum("ij,ij->i", R, Q)
    goal = energy * tol**2
    for _ in range(max_iter):
        going = energy > goal
        if not going.all():
            active, E, R, direction, inverse_mean = (x[going] for x in (active, E, R, direction, inverse_mean))
            energy, goal = energy[going], goal[going]
        if len(active) == 0:
            break
        image = direction @ V
        image *= E
        image = image @ V.T
        step = (energy / np.einsum("ij,ij->i", direction, image))[:, None]
        Z[active] += step * direction
        R = R - step * image
        Q = inverse_mean * R
        last, energy = energy, np.einsum("ij,ij->i", R, Q)
        direction = Q + (energy / last)[:, None] * direction
    return Z, int((energy > goal).sum())


def target_mapping(seen: ReducedSeen, weights: Array, lambdas: Lambdas, Z: Array, n_targets: int) -> Array:
    """The mapping W_c (q, r) of the target with these weights (Cs,), from the sum Z (q, r) of all n_targets mappings.

    One decomposition, in the bases of ``seen``.
    """
    t, V = eigh((seen.S.T * weights) @ seen.S)
    N = (seen.M * weights) @ seen.S
    D = 1 / (lambdas.stiffness(seen.l, t.clip(min=0)) + n_targets * lambdas.lambda3)
    W: Array = ((N + lambdas.lambda3 * Z) @ V * D) @ V.T
    return W
