r"""AEZSL classifiers for many lambdas and the same targets, from a table of solutions in one scalar.

Divided by :math:`g = l + \gamma`, each row of the equations in ``solver`` sees the lambdas mainly through the shift
:math:`\sigma = (l\lambda_1 + \lambda_2 + C\lambda_3) / g`. With :math:`T_c = S' \mathrm{diag}(s_c^2) S` and m the row
of :math:`U'X'Y`, define

.. math::
    H(\sigma) = \sum_c (T_c + \sigma)^{-1} S' \mathrm{diag}(s_c^2), \qquad
    F(\sigma) = \frac1C \sum_c T_c (T_c + \sigma)^{-1} = V \mathrm{diag}(f) V', \qquad \theta = \sigma f / (1 - f).

Then :math:`\sum_c (T_c + \sigma)^{-1} / C` is :math:`V \mathrm{diag}(1 / (\theta + \sigma)) V'`: all targets act
together like the one matrix :math:`V \mathrm{diag}(\theta) V'`, and the row z of the sum of all mappings is

.. math:: z = \frac1g V \, \mathrm{diag}\!\left(\frac{\theta + \sigma}{\theta + \tau}\right) V' H(\sigma) m,
    \qquad \tau = (l\lambda_1 + \lambda_2) / g

from which the classifiers follow as
:math:`p_c = \frac1g a_c' (T_c + \sigma)^{-1} (S' \mathrm{diag}(s_c^2) m + \lambda_3 z)`.
Of a row m only what lies outside the columns of S needs products with matrices of the targets: with
:math:`m = S b + N e`, N an orthonormal basis of what S leaves out,

.. math:: (T_c + \sigma)^{-1} S' \mathrm{diag}(s_c^2) m
    = T_c (T_c + \sigma)^{-1} b + (T_c + \sigma)^{-1} S' \mathrm{diag}(s_c^2) N e

so that :math:`H(\sigma) m = C F(\sigma) b + H(\sigma) N e`; where the seen classes' semantics are independent, N is
empty. At a fixed :math:`\sigma` nothing but elementwise work depends on a lambda. For fixed :math:`\tau` the solution
is analytic in :math:`\sigma > 0`, so a dozen Chebyshev nodes per two decades give it everywhere to single precision,
and a grid of hundreds of points pays for some fifty nodes once. Single precision is enough to choose among points
(the model of the chosen one is solved in double precision) and twice as fast; only the shared spectrum, whose
small differences matter, is computed in double precision.
"""

from functools import partial

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from aezsl.arrays import Array
from aezsl.machine.workers import Once, n_threads, run_side_by_side
from aezsl.methods.aezsl.solver import MB, Lambdas, ReducedSeen, TargetSpectra

#: Decades of shifts in one interval, and its Chebyshev nodes: the nearest singularity in the logarithm of the shift is
#: pi away, so over two decades the error falls threefold per node, to 1e-6 here.
DECADES, NODES = 2, 13
#: Targets are summed over in chunks whose work arrays have at most this many entries (64 MB in double precision).
CHUNK_ENTRIES = 8_000_000


class _Interval:
    """The solution's factors at the p nodes of one interval of shifts, for all rows.

    Without ``coupled`` (lambda3 = 0) only the factors that independent targets need.
    """

    def __init__(self, b: Array, e: Array, N: Array, targets: TargetSpectra, sigmas: Array, coupled: bool) -> None:
        C, r = targets.shape
        p, n_left, single = len(sigmas), N.shape[1], np.float32
        K, KT = np.empty((p, r, C)), np.empty((p, r, C))  # (T_c + sigma)^-1 a_c, and T_c times it
        J = np.empty((p, C, n_left), dtype=single)  # a_c'(T_c + sigma)^-1 S' diag(s_c^2) N
        VN = np.empty((C, r, n_left), dtype=single)  # V_c' S' diag(s_c^2) N

        def at_target(c: int) -> None:
            block = slice(c * r, (c + 1) * r)
            V, t = targets.V[:, block], targets.t[block, None]
            shrunk = (V.T @ targets.A[c])[:, None] / (t + sigmas)
            K[:, :, c], KT[:, :, c] = (V @ shrunk).T, (V @ (t * shrunk)).T
            VN[c] = V.T @ ((targets.S.T * targets.weights[c]) @ N)
            J[:, c] = shrunk.T.astype(single) @ VN[c]

        run_side_by_side(at_target, range(C))
        self.sigma = sigmas.astype(single)
        self.J = np.empty((len(b), p, C), dtype=single)  # a_c'(T_c + sigma)^-1 S' diag(s_c^2) m
        for j in range(p):
            self.J[:, j] = b @ KT[j] + e @ J[j].T
        if not coupled:
            return
        self.theta = np.empty((p, r), dtype=single)
        self.K = np.empty((p, r, C), dtype=single)  # V'(T_c + sigma)^-1 a_c
        self.H = np.empty((len(b), p, r), dtype=single)  # (theta + sigma) V'H(sigma) m
        step = r * max(1, CHUNK_ENTRIES // r**2)
        chunks = [slice(start, min(start + step, C * r)) for start in range(0, C * r, step)]

        def at_node(j: int) -> None:
            sigma, F, HN = sigmas[j], np.zeros((r, r)), np.zeros((r, n_left), dtype=single)
            for columns in chunks:
                V, t = targets.V[:, columns], targets.t[columns]
                half = V * np.sqrt(t / (C * (t + sigma)))
                F += half @ half.T  # a matrix times its own transpose: BLAS computes only half of it
                if n_left:
                    solved = np.divide(V, t + sigma, out=np.empty(V.shape, dtype=single), casting="same_kind")
                    HN += solved @ VN.reshape(C * r, n_left)[columns]
            f, vectors = np.linalg.eigh(F)
            f = f.clip(0, 1 - np.finfo(f.dtype).eps)  # where it is one, theta is so large that it drops out
            theta = sigma * f / (1 - f)
            self.theta[j], self.K[j] = theta, vectors.T @ K[j]
            self.H[:, j] = ((b @ vectors) * (C * f) + e @ (vectors.T @ HN).T) * (theta + sigma)

        run_side_by_side(at_node, range(p))

    def classifiers(self, rows: slice, weights: Array, scale: Array, tau: Array, lambda3: float) -> Array:
        """The rows of all p_c (rows, C), interpolated with ``weights`` (rows, p)."""
        P: Array = np.einsum("ij,ijc->ic", weights.astype(np.float32), self.J[rows])
        if lambda3 > 0:
            gain = self.theta + tau.astype(np.float32)[:, None, None]
            np.divide(self.H[rows], gain, out=gain)
            gain *= (weights * (lambda3 / scale)[:, None]).astype(np.float32)[:, :, None]
            p, r, C = self.K.shape
            P += gain.reshape(len(scale), p * r) @ self.K.reshape(p * r, C)
        return P


class PathTable:
    """Classifiers of fixed targets as a function of the lambdas."""

    def __init__(self, seen: ReducedSeen, targets: TargetSpectra) -> None:
        self.l, self.targets = seen.l, targets
        r = targets.shape[1]
        left, R = np.linalg.qr(targets.S, mode="complete")
        self.N = left[:, r:]
        self.b: Array = np.linalg.solve(R[:r], left[:, :r].T @ seen.M.T).T
        self.e: Array = seen.M @ self.N
        #: Beyond this shift the solution is smooth in 1 / sigma down to zero, and one interval holds it all.
        self.far = 3 * float(targets.t.max()) or 1.0
        self.intervals = Once()

    @staticmethod
    def expected_mb(n_rows: int, n_seen: int, n_targets: int, rank: int) -> float:
        """Memory for five intervals, what a grid over seven decades touches, and for building one."""
        left = n_seen - rank
        building = NODES * n_targets * (4 * rank + left) + n_targets * rank * left + 3 * CHUNK_ENTRIES * n_threads()
        return 4 * (5 * NODES * n_rows * (rank + n_targets) + building) / MB

    @staticmethod
    def pays(n_points: int, n_rows: int, rank: int) -> bool:
        """Whether the nodes (n_targets rank^3 each) cost less than solving n_points times (n_targets n_rows rank^2)."""
        return n_points * n_rows > 32 * rank

    def classifiers(self, lambdas: Lambdas) -> Array:
        """All p_c (q, C) on the eigenvectors of X'X."""
        lambda3 = lambdas.lambda3
        scale, tau, sigma = lambdas.shifts(self.l, self.targets.shape[0])
        P = np.empty((len(scale), self.targets.shape[0]))
        # Eigenvalues decrease, so shifts only grow or only shrink: the rows of an interval are neighbours.
        names = np.floor(np.log10(sigma) / DECADES).astype(int)
        names[sigma > self.far] = np.iinfo(int).max
        starts = np.flatnonzero(np.diff(names, prepend=names[0] - 1))
        for start, stop in zip(starts, [*starts[1:], len(scale)], strict=True):
            rows = slice(start, stop)
            name = None if sigma[start] > self.far else int(names[start])
            x = self._position(name, sigma[rows])
            key = (name, lambda3 > 0)
            interval = self.intervals(key, partial(self._interval, *key))
            # What is smooth, at infinity too, is sigma times the classifiers.
            weights = _interpolation_weights(x) * interval.sigma / sigma[rows, None]
            P[rows] = interval.classifiers(rows, weights, scale[rows], tau[rows], lambda3) / scale[rows, None]
        return P

    def _interval(self, name: int | None, coupled: bool) -> _Interval:
        return _Interval(self.b, self.e, self.N, self.targets, self._nodes(name), coupled)

    def _position(self, name: int | None, sigma: Array) -> Array:
        """Where shifts lie in their interval, in [-1, 1]."""
        x: Array = 2 * self.far / sigma - 1 if name is None else 2 * (np.log10(sigma) / DECADES - name) - 1
        return x

    def _nodes(self, name: int | None) -> Array:
        x = chebpts1(NODES)
        sigma: Array = 2 * self.far / (x + 1) if name is None else 10 ** (DECADES * (name + (x + 1) / 2))
        return sigma


def _interpolation_weights(x: Array) -> Array:
    """Weights (len(x), NODES) of the values at Chebyshev nodes in the interpolating polynomial at x in [-1, 1]."""
    twice = np.full(NODES, 2.0)
    twice[0] = 1.0
    weights: Array = (chebvander(x, NODES - 1) * twice) @ chebvander(chebpts1(NODES), NODES - 1).T / NODES
    return weights
