r"""The AEZSL equations for any number of coupled targets, in memory that does not grow with it.

Notation and equations as in ``solver``. Divided by :math:`g = l + \gamma`, a row of them depends on the lambdas through
:math:`\sigma = (l\lambda_1 + \lambda_2 + C\lambda_3) / g` and :math:`\tau = (l\lambda_1 + \lambda_2) / g`. With
:math:`T_c = S' \mathrm{diag}(s_c^2) S`, m the row of :math:`U'X'Y` and z the row of the sum Z of all mappings,

.. math::
    \left[F(\sigma) + \tfrac\tau\sigma (I - F(\sigma))\right] z
    = \tfrac1g \sum_c (T_c + \sigma)^{-1} S' \mathrm{diag}(s_c^2) m,
    \qquad F(\sigma) = \tfrac1C \sum_c T_c (T_c + \sigma)^{-1}

    p_c = \tfrac1g \, h_c(\sigma)' \left(S' \mathrm{diag}(s_c^2) m + \lambda_3 z\right),
    \qquad h_c(\sigma) = (T_c + \sigma)^{-1} a_c.

Two passes over the targets are enough, each a map over blocks of targets and an ordered sum:

1. the right sides of all rows, and F at the nodes of an interpolation in :math:`\sigma`. Then every row of Z is one
   small system, solved without iteration, and the targets themselves are not needed any more;
2. the classifiers, from :math:`h_c` at the nodes: a few dozen vectors per target take the place of all rows.

Without coupling (:math:`\lambda_3 = 0`) the second pass is all there is. Nothing of the size C x r x r is ever kept.

**Interpolation.** Both functions are sums of :math:`1 / (t + \sigma)` over eigenvalues :math:`0 \le t \le b`. In
:math:`u = \ln(1 + b / \sigma)` all shifts from the smallest to infinity are one finite interval, and every pole
:math:`\sigma = -t` lies on the lines :math:`\mathrm{Im}\, u = \pm\pi`, at a distance of :math:`\pi`. So on an interval
of length L the error of Chebyshev interpolation at p nodes falls as :math:`\rho^{-p}` with
:math:`\ln\rho = \mathrm{arsinh}(2\pi / L)`, whatever the data: p follows from the accuracy wanted. What is interpolated
is :math:`(\sigma + b)` times the functions, which stays of one size up to infinity.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.linalg import eigh
from numpy.polynomial.chebyshev import chebpts1, chebvander
from scipy.linalg.lapack import dormqr, dptsv, dsytrd

from aezsl.arrays import Array
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import workers
from aezsl.methods.aezsl.solver import Lambdas, ReducedSeen
from aezsl.methods.shared.similarity import SimilarityWeights

#: Targets of a task at most: some twenty seconds of work at rank 384, whose result is a hundred megabytes at most.
BLOCK_TARGETS = 256
#: Tasks at least, where there are that many targets: work for a machine with several cores.
MIN_BLOCKS = 16
#: Targets decomposed together within a task: enough for long products, and few enough for the caches.
TOGETHER = 8
#: Relative error of interpolated values against the largest, before what the range of shifts adds to it.
ACCURACY = 1e-8
#: Columns that LAPACK works on at once, for which it is given room.
LAPACK_BLOCK = 64
#: Rows of Z solved together.
ROWS = 32


@dataclass(frozen=True)
class Shifts:
    """Interpolation in the shift: its nodes, and the weights with which values there give those of every row."""

    sigma: Array  # (q,) of the rows
    nodes: Array  # (p,)
    weights: Array  # (q, p)

    @classmethod
    def for_rows(cls, sigma: Array, g: float) -> "Shifts":
        """The interpolation for rows with shifts ``sigma`` (q,), of matrices whose eigenvalues are at most g."""
        length = float(np.log1p(g / sigma.min()))
        error = max(ACCURACY * min(1.0, float(sigma.min()) / g), 1e-14)
        p = int(np.ceil(-np.log(error) / np.arcsinh(2 * np.pi / length))) + 2
        x = chebpts1(p)
        nodes = g / np.expm1(length * (x + 1) / 2)
        twice = np.full(p, 2.0)
        twice[0] = 1.0
        position = 2 * np.log1p(g / sigma) / length - 1
        at_rows = (chebvander(position, p - 1) * twice) @ chebvander(x, p - 1).T / p
        return cls(sigma, nodes, at_rows * (nodes + g) / (sigma + g)[:, None])


@dataclass(frozen=True)
class SharedProblem:
    """What every task needs: the seen data, the lambdas, and the shifts of the rows."""

    seen: ReducedSeen
    similarity: SimilarityWeights
    lambdas: Lambdas
    n_targets: int
    shifts: Shifts

    @classmethod
    def for_targets(
        cls, seen: ReducedSeen, similarity: SimilarityWeights, lambdas: Lambdas, given: Array
    ) -> "SharedProblem":
        """What the tasks need to solve together for targets whose semantics as given are (C, b)."""
        *_, sigma = lambdas.shifts(seen.l, len(given))
        shifts = Shifts.for_rows(sigma, largest_norm(seen.S, similarity, given))
        return cls(seen, similarity, lambdas, len(given), shifts)

    @property
    def scale(self) -> Array:
        """(q,) by which the rows were divided."""
        return self.seen.l + self.lambdas.gamma

    def target_matrix(self, given: Array) -> tuple[Array, Array]:
        """The weights (Cs,) of a target with these semantics (b,), and its matrix T_c (r, r)."""
        weights = self.similarity(given[None])[0]
        half = self.seen.S * np.sqrt(weights)[:, None]
        return weights, half.T @ half  # times its own transpose: BLAS computes only half of it


def largest_norm(S: Array, similarity: SimilarityWeights, given: Array) -> float:
    r"""The largest Frobenius norm of a target's matrix, a bound of all eigenvalues.

    It needs none of the matrices: :math:`\|T_c\|_F^2 = w' ((S S') * (S S')) w` with the weights :math:`w = s_c^2`.
    """
    kernel, largest = np.square(S @ S.T), 0.0
    for i in range(0, len(given), BLOCK_TARGETS):
        weights = similarity(given[i : i + BLOCK_TARGETS])
        largest = max(largest, float(np.einsum("ij,ij->i", weights @ kernel, weights).max()))
    return float(np.sqrt(largest)) or 1.0  # zero where all targets are at right angles to all seen classes


#: A block of targets: their semantics (n, r) on the basis of the seen ones, and as they were given (n, b).
Block = tuple[Array, Array]


def target_blocks(A: Array, given: Array) -> list[Block]:
    """The targets cut into tasks, by their number alone."""
    n = min(max(-(-len(A) // BLOCK_TARGETS), MIN_BLOCKS), len(A))
    return list(zip(np.array_split(A, n), np.array_split(given, n), strict=True))


def sum_right_sides(block: Block, problem: SharedProblem) -> tuple[Array, Array]:
    """A task of the first pass: the block's part of g times the right sides (q, r), and of C F at the nodes."""
    seen, shifts = problem.seen, problem.shifts
    A, given = block
    q, r = len(seen.l), A.shape[1]
    B, F = np.zeros((q, r)), np.zeros((len(shifts.nodes), r, r))
    for first in range(0, len(A), TOGETHER):
        n = min(TOGETHER, len(A) - first)
        V, t, R = np.empty((r, n * r)), np.empty(n * r), np.empty((q, n * r))
        for place in range(n):
            columns = slice(place * r, (place + 1) * r)
            weights, T = problem.target_matrix(given[first + place])
            t[columns], V[:, columns] = eigh(T)
            np.matmul(seen.M, (seen.S @ V[:, columns]) * weights[:, None], out=R[:, columns])
        t.clip(min=0, out=t)  # a Gram matrix has no negative eigenvalue; rounding does
        R /= np.add.outer(shifts.sigma, t)
        B += R @ V.T
        for node, sum_ in zip(shifts.nodes, F, strict=True):
            half = V * np.sqrt(t / (t + node))
            sum_ += half @ half.T
    return B, F


def block_classifiers(block: Block, problem: SharedProblem, Z: Array | None) -> Array:
    """A task of the second pass: the block's classifiers (q, n), coupled through the sum Z where there is one."""
    seen, shifts, lambda3 = problem.seen, problem.shifts, problem.lambdas.lambda3
    A, given = block
    p, (n, r) = len(shifts.nodes), A.shape
    h, hS = np.empty((p, r, n)), np.empty((p, seen.S.shape[0], n))  # h_c at the nodes, and diag(s_c^2) S h_c
    for c in range(n):
        weights, T = problem.target_matrix(given[c])
        at_nodes = shifted_solutions(T, A[c], shifts.nodes)
        h[:, :, c] = at_nodes.T
        hS[:, :, c] = ((seen.S @ at_nodes) * weights[:, None]).T
    P = np.zeros((len(seen.l), n))
    for node in range(p):
        part = seen.M @ hS[node]
        if Z is not None:
            part += lambda3 * (Z @ h[node])
        part *= shifts.weights[:, node, None]
        P += part
    P /= problem.scale[:, None]
    return P


def shifted_solutions(T: Array, a: Array, shifts: Array) -> Array:
    """(T + shift)^-1 a (r, p) for all shifts, from T in tridiagonal form: a third of the time of eigenvectors."""
    r = len(T)
    if r == 1:
        return a[:, None] / (T + shifts)
    reflectors, diagonal, beside, tau, _ = dsytrd(T, lower=1, lwork=LAPACK_BLOCK * r)
    below = reflectors[1:, :-1]  # they leave the first coordinate alone
    rotated, solved = a.copy(), np.empty((r, len(shifts)), order="F")
    rotated[1:] = _reflect("T", below, tau, a[1:, None])[:, 0]
    for place, shift in enumerate(shifts):
        *_, solved[:, place], failed = dptsv(diagonal + shift, beside, rotated)
        if failed:
            raise np.linalg.LinAlgError(f"the shift {shift:.1e} is lost in the rounding of a target's matrix")
    solved[1:] = _reflect("N", below, tau, solved[1:])
    return solved


def _reflect(transposed: str, below: Array, tau: Array, C: Array) -> Array:
    """The product of all reflectors, or its transpose, times C."""
    product: Array = dormqr("L", transposed, below, tau, C, LAPACK_BLOCK * C.shape[1])[0]
    return product


def shared_sum(blocks: list[Block], problem: SharedProblem, show: bool) -> Array:
    """The first pass, and the sum Z (q, r) of all mappings that follows from it."""
    seen, shifts = problem.seen, problem.shifts
    r = seen.S.shape[1]
    B, F = np.zeros((len(seen.l), r)), np.zeros((len(shifts.nodes), r, r))
    sums = workers().map(sum_right_sides, blocks, problem)
    for of_rows, of_nodes in progress_bar(sums, total=len(blocks), desc="AEZSL: sum of all mappings", disable=not show):
        B += of_rows
        F += of_nodes
    return solve_rows(B, F.reshape(len(F), r * r), problem)


def solve_rows(B: Array, F: Array, problem: SharedProblem) -> Array:
    """Z (q, r) from g times the right sides (q, r) and C F at the nodes (p, r r): one system per row."""
    shifts, r = problem.shifts, B.shape[1]
    scale, tau, _ = problem.lambdas.shifts(problem.seen.l, problem.n_targets)
    ratio = tau / shifts.sigma
    Z = np.empty_like(B)
    for i in range(0, len(B), ROWS):
        rows = slice(i, i + ROWS)
        system = ((shifts.weights[rows] / problem.n_targets) @ F).reshape(-1, r, r)
        system *= 1 - ratio[rows, None, None]
        system += ratio[rows, None, None] * np.eye(r)
        Z[rows] = np.linalg.solve(system, (B[rows] / scale[rows, None])[:, :, None])[:, :, 0]
    return Z


def stream_targets(
    seen: ReducedSeen, similarity: SimilarityWeights, A: Array, given: Array, lambdas: Lambdas, show: bool = True
) -> tuple[Array | None, Iterator[Array]]:
    """The sum Z (q, r) of all mappings, where lambda3 > 0, and the classifiers (q, n) of one block after the other.

    A (C, r) target semantics on the basis of ``seen``; given (C, b) the same as they were given. The tasks are carried
    out by ``aezsl.machine.workers.workers()``; show : whether to show how far the work is.
    """
    problem = SharedProblem.for_targets(seen, similarity, lambdas, given)
    blocks = target_blocks(A, given)
    Z = shared_sum(blocks, problem, show) if lambdas.lambda3 > 0 else None
    parts = workers().map(block_classifiers, blocks, problem, Z)
    return Z, iter(progress_bar(parts, total=len(blocks), desc="AEZSL: classifiers", disable=not show))
