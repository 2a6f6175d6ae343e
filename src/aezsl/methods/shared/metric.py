"""Distances in the metric of the seen classes: what varies within them, such as style or background, counts less."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from aezsl.arrays import Array
from aezsl.data.statistics import SeenStatistics


def within_class_factor(statistics: SeenStatistics, shrinkage: float) -> Array:
    """Lower Cholesky factor of the within-class covariance plus ``shrinkage`` times its mean variance."""
    between = statistics.sums.T @ statistics.means
    covariance = (statistics.second_moment - between) / statistics.n
    mean = float(np.trace(covariance)) / len(covariance)
    if mean <= 0:  # one image per class: no direction is known to vary within classes
        return np.eye(len(covariance))
    factor: Array = cholesky(covariance + shrinkage * mean * np.eye(len(covariance)), lower=True, check_finite=False)
    return factor


def whitening(statistics: SeenStatistics, shrinkage: float | None) -> Array:
    """T (d, d): distances between samples ``x T`` are those of the metric. None: an empty T, which changes nothing.

    The mean square of the seen samples stays the same, so that weights against it keep their meaning.
    """
    if shrinkage is None:
        return np.empty((0, 0))
    factor = within_class_factor(statistics, shrinkage)
    T = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False).T
    moment = statistics.second_moment
    square = float(np.vdot(T, moment @ T))
    return T * np.sqrt(np.trace(moment) / square) if square > 0 else T


def whitened(X: Array, T: Array) -> Array:
    """Rows of X (m, d) where distances are those of the metric."""
    return X @ T if T.size else X
