r"""How evenly a pool is shared among classes, from its images alone, and shares that are no less even.

Two images of a pool with shares q are of one class with probability :math:`\sum_c q_c^2`, its *concentration*: 1 / C
where all C classes have as many images, 1 where there is one class. Images of one class are alike (cosine a in the
mean), others are not (cosine b), and seen classes tell both. So the mean cosine s of all pairs of the pool tells the
concentration before any label is known:

.. math:: h = \frac{s - b}{a - b}

Rows are less the mean of the Cs seen classes. That mean is nearer to seen classes than to others: where class means
vary by :math:`\sigma^2 = a - b`, it lowers the products of two seen classes by :math:`\sigma^2 / C_s` in the mean, and
raises those of two unseen ones by as much. So b is what seen classes show, and :math:`2 \sigma^2 / C_s`.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import brentq

from aezsl.arrays import Array
from aezsl.data.statistics import SeenStatistics


class Likeness(NamedTuple):
    """The mean cosine of two images of one unseen class, and of two images of two of them."""

    same: float
    apart: float


def likeness(statistics: SeenStatistics, factor: Array, shrinkage: float) -> Array:
    """What seen classes show of the likeness of unseen ones, as an array (2,), in the metric of the Cholesky factor.

    Cosines are products over the mean square. Both are 0 where no class has two images, or where its images are no more
    alike than others.
    """
    counts, Cs, d = statistics.counts, len(statistics.counts), len(factor)
    n, pairs = counts.sum(), float((counts * (counts - 1)).sum())
    if pairs == 0 or Cs < 2:
        return np.zeros(2)
    means = _in_metric(statistics.means - statistics.means.mean(axis=0), factor)
    squares = np.square(means).sum(axis=1)
    inverse = _in_metric(np.eye(d), factor)
    within = d - shrinkage * mean_variance(factor, shrinkage) * float(np.square(inverse).sum())
    total = float(counts @ squares) + n * within
    same = (float(counts**2 @ squares) - total) / pairs
    sums = counts @ means
    apart = (float(sums @ sums) - float(counts**2 @ squares)) / (float(n) ** 2 - float((counts**2).sum()))
    spread = same - apart
    if spread <= 0:
        return np.zeros(2)
    known: Array = np.array([same + 2 * spread / Cs, apart + 2 * spread / Cs]) * n / total
    return known


def mean_variance(factor: Array, shrinkage: float) -> float:
    """The mean variance within classes, of features, that the factor of the metric was shrunk towards."""
    return float(np.square(factor).sum()) / (len(factor) * (1 + shrinkage))


def concentration(X: Array, known: Likeness, n_classes: int) -> float:
    """The probability that two images of the pool, unit rows X (m, d), are of one class; 1 / C where nothing tells."""
    m = len(X)
    if m < 2 or known.same <= known.apart:
        return 1 / n_classes
    mean = (float(np.square(X.sum(axis=0, dtype=np.float64)).sum()) - m) / (m * (m - 1))
    return float(np.clip((mean - known.apart) / (known.same - known.apart), 1 / n_classes, 1))


def nearest_shares(shares: Array, most: float) -> Array:
    r"""The q of least :math:`-\sum_c n_c \log q_c` among shares whose concentration is at most ``most``.

    q is ``shares`` (C,) itself where that is even enough. Else :math:`n_c / q_c = \nu + 2 \lambda q_c` with
    :math:`\nu = 1 - 2 \lambda h`, where lambda is such that q sums to one.
    """
    C, most = len(shares), max(most, 1 / len(shares))
    if float(shares @ shares) <= most:
        return shares
    if most * C <= 1 + 1e-9:
        return np.full(C, 1 / C)

    def q(log_multiplier: float) -> Array:
        multiplier = np.exp(log_multiplier)
        nu = 1 - 2 * multiplier * most
        root = np.sqrt(nu**2 + 8 * multiplier * shares)
        # of two equal forms the one without cancellation
        found: Array = 2 * shares / (nu + root) if nu > 0 else (root - nu) / (4 * multiplier)
        return found

    low, high = -12.0, 2.0
    while q(high).sum() < 1 and high < 40:
        high += 2
    if q(low).sum() >= 1 or q(high).sum() < 1:  # at the bound, or next to even shares
        return shares if q(low).sum() >= 1 else np.full(C, 1 / C)
    found = q(brentq(lambda at: float(q(at).sum()) - 1, low, high, xtol=1e-12))
    nearest: Array = found / found.sum()
    return nearest


def _in_metric(rows: Array, factor: Array) -> Array:
    inside: Array = solve_triangular(factor, rows.T, lower=True, check_finite=False).T
    return inside
