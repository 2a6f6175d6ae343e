r"""AEZSL classifiers for many lambdas and the same targets, from a table of solutions in one scalar.

Divided by its eigenvalue l, each row of the equations in ``_aezsl_solver`` sees the lambdas mainly through the shift
:math:`\sigma = \lambda_1 + (\lambda_2 + C\lambda_3) / l`. With :math:`T_c = S' \mathrm{diag}(s_c^2) S` and m the row of
:math:`U'X'Y`, define

.. math::
    H(\sigma) = \sum_c (T_c + \sigma)^{-1} S' \mathrm{diag}(s_c^2), \qquad
    F(\sigma) = \frac1C \sum_c T_c (T_c + \sigma)^{-1} = V \mathrm{diag}(f) V', \qquad \theta = \sigma f / (1 - f).

Then :math:`\sum_c (T_c + \sigma)^{-1} / C` is :math:`V \mathrm{diag}(1 / (\theta + \sigma)) V'`: all targets act
together like the one matrix :math:`V \mathrm{diag}(\theta) V'`, and the row z of the sum of all mappings is

.. math:: z = \frac1l V \, \mathrm{diag}\!\left(\frac{\theta + \sigma}{\theta + \tau}\right) V' H(\sigma) m,
    \qquad \tau = \lambda_1 + \lambda_2 / l

from which the classifiers follow as
:math:`p_c = \frac1l a_c' (T_c + \sigma)^{-1} (S' \mathrm{diag}(s_c^2) m + \lambda_3 z)`.
At a fixed :math:`\sigma` nothing but elementwise work depends on a lambda. For fixed :math:`\tau` the solution is
analytic in :math:`\sigma > 0`, so a dozen Chebyshev nodes per two decades give it everywhere to single precision,
and a grid of hundreds of points pays for some fifty nodes once. Single precision is enough to choose among points
(the model of the chosen one is solved in double precision) and twice as fast; only the shared spectrum, whose
small differences matter, is computed in double precision.
"""

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk

from aezsl.methods._aezsl_solver import MB, Array, Lambdas, Seen, Targets

#: Decades of shifts in one interval, and its Chebyshev nodes: the nearest singularity in the logarithm of the shift is
#: pi away, so over two decades the error falls threefold per node, to 1e-6 here.
DECADES, NODES = 2, 13


class _Interval:
    """The solution's factors at the nodes of one interval of shifts, for all rows."""

    def __init__(self, table: "PathTable", sigmas: Array) -> None:
        C, r = table.targets.shape
        V, t = table.targets.V, table.targets.t
        q, p = len(table.M), len(sigmas)
        self.sigma, self.theta = sigmas.astype(np.float32), np.empty((p, r), dtype=np.float32)
        # V'H(sigma) m and a_c'(T_c + sigma)^-1 S' s_c^2 m for every row m; V'(T_c + sigma)^-1 a_c for every target
        self.H, self.J = np.empty((q, p, r), dtype=np.float32), np.empty((q, p, C), dtype=np.float32)
        self.K = np.empty((p, r, C), dtype=np.float32)
        for j, sigma in enumerate(sigmas):
            half = V * np.sqrt(t / (C * (t + sigma)))
            # dsyrk forms one triangle of half @ half.T, at half the cost of the product
            f, F_vectors = eigh(dsyrk(1.0, half.T, trans=1), lower=False, check_finite=False, overwrite_a=True)
            f = f.clip(0, 1 - np.finfo(f.dtype).eps)  # where it is one, theta is so large that it drops out
            self.theta[j] = sigma * f / (1 - f)
            F_vectors = F_vectors.astype(np.float32)
            shrink = (1 / (t + sigma)).astype(np.float32)
            solved = table.V * shrink
            self.H[:, j] = table.M @ (F_vectors.T @ (solved @ table.weighted)).T
            solved *= table.a
            self.K[j] = F_vectors.T @ solved.reshape(r, C, r).sum(axis=2)
            scaled = (table.a * shrink).reshape(C, 1, r)
            self.J[:, j] = table.M @ np.matmul(scaled, table.weighted.reshape(C, r, -1))[:, 0].T

    def classifiers(self, rows: slice, weights: Array, l: Array, tau: Array, lambda3: float) -> Array:
        """The rows of all p_c (rows, C), interpolated with ``weights`` (rows, p)."""
        gain = (self.theta + self.sigma[:, None]) / (self.theta + tau.astype(np.float32)[:, None, None])
        gain *= self.H[rows]
        gain *= (weights * (lambda3 / l)[:, None]).astype(np.float32)[:, :, None]
        p, r, C = self.K.shape
        P: Array = gain.reshape(len(l), p * r) @ self.K.reshape(p * r, C)
        P += np.einsum("ij,ijc->ic", weights.astype(np.float32), self.J[rows])
        return P


class PathTable:
    """Classifiers of fixed targets as a function of the lambdas."""

    def __init__(self, seen: Seen, targets: Targets) -> None:
        C, r = targets.shape
        self.l, self.targets = seen.l, targets
        self.V, self.M = targets.V.astype(np.float32), seen.M.astype(np.float32)
        a = np.einsum("rcj,cr->cj", targets.V.reshape(r, C, r), targets.A)
        self.a = a.reshape(C * r).astype(np.float32)
        # (C r, Cs) all V_c' S' diag(s_c^2) on top of each other
        VS = (self.V.T @ targets.S.T.astype(np.float32)).reshape(C, r, -1)
        VS *= targets.weights[:, None, :].astype(np.float32)
        self.weighted = VS.reshape(C * r, -1)
        #: Beyond this shift the solution is smooth in 1 / sigma down to zero, and one interval holds it all.
        self.far = 3 * float(targets.t.max()) or 1.0
        self.intervals: dict[int | None, _Interval] = {}

    @staticmethod
    def expected_mb(n_rows: int, n_seen: int, n_targets: int, rank: int) -> float:
        """Memory for five intervals, what a grid over seven decades touches, and for building one."""
        return 4 * (5 * NODES * n_rows * (rank + n_targets) + n_targets * rank * (n_seen + 5 * rank)) / MB

    @staticmethod
    def pays(n_points: int, n_rows: int, rank: int) -> bool:
        """Whether the nodes (n_targets rank^3 each) cost less than solving n_points times (n_targets n_rows rank^2)."""
        return n_points * n_rows > 32 * rank

    def classifiers(self, lambdas: Lambdas) -> Array:
        """All p_c (q, C) on the eigenvectors of X'X."""
        lambda1, lambda2, lambda3 = lambdas
        l = self.l
        tau = lambda1 + lambda2 / l
        sigma = tau + self.targets.shape[0] * lambda3 / l
        P = np.empty((len(l), self.targets.shape[0]))
        # Eigenvalues decrease, so shifts increase: the rows of an interval are neighbours.
        names = np.floor(np.log10(sigma) / DECADES).astype(int)
        names[sigma > self.far] = np.iinfo(int).max
        starts = np.flatnonzero(np.diff(names, prepend=names[0] - 1))
        for start, stop in zip(starts, [*starts[1:], len(l)], strict=True):
            rows = slice(start, stop)
            name = None if sigma[start] > self.far else int(names[start])
            x = self._position(name, sigma[rows])
            if name not in self.intervals:
                self.intervals[name] = _Interval(self, self._nodes(name))
            interval = self.intervals[name]
            # What is smooth, at infinity too, is sigma times the classifiers.
            weights = _interpolation_weights(x) * interval.sigma / sigma[rows, None]
            P[rows] = interval.classifiers(rows, weights, l[rows], tau[rows], lambda3) / l[rows, None]
        return P

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
