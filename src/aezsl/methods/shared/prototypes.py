"""Visual prototypes and attribute scores of classes."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics
from aezsl.errors import DataError


def signature_map(S: Array, statistics: SeenStatistics, ridge: float) -> Array:
    """D (a, d) of the ridge regression from semantics S (C, a) to the samples of the classes, from their sums."""
    S = np.asarray(S, dtype=np.float64)
    gram = (S.T * statistics.counts) @ S
    gram[np.diag_indices_from(gram)] += ridge
    D: Array = solve(gram, S.T @ statistics.sums, assume_a="pos")
    return D


def nearest(Z: Array, prototypes: Array) -> Labels:
    """The nearest prototype of every row of Z; the first one on ties."""
    nearness = Z @ prototypes.T - 0.5 * np.square(prototypes).sum(axis=1)
    labels: Labels = nearness.argmax(axis=1)
    return labels


def squared_error(Z: Array, prototypes: Array, labels: Labels) -> float:
    """The sum of squared distances between samples and the prototypes of their classes."""
    return float(np.square(Z - prototypes[labels]).sum())


def squared_distances(Z: Array, prototypes: Array) -> Array:
    """(m, C) from every row of Z to every prototype; rounding never makes one negative."""
    squares = np.square(Z).sum(axis=1)[:, None] + np.square(prototypes).sum(axis=1)
    distances: Array = np.maximum(squares - 2 * Z @ prototypes.T, 0)
    return distances


def binary_attributes(S: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Thresholds (a,) at the mean over the seen classes, and the attributes of S (C, a) above them."""
    threshold = S.mean(axis=0)
    B = np.greater(S, threshold)
    if not (B.any(axis=0) & ~B.all(axis=0)).any():
        raise DataError("no semantic dimension differs between the seen classes: there is no attribute to learn")
    return threshold, B


def attribute_prior(B: NDArray[np.bool_]) -> Array:
    """Share of the seen classes (C, a) that have each attribute; one half where all or none have it."""
    prior: Array = B.mean(axis=0)
    prior[(prior == 0) | (prior == 1)] = 0.5
    return prior


def class_posterior(log_has: Array, log_lacks: Array, B: NDArray[np.bool_], prior: Array) -> Array:
    r"""Scores (n, C) of classes with attributes B (C, a), given log-probabilities (n, a) that each is there or not.

    .. math:: \log p(z \mid x) = \sum_m \log p(a_m^z \mid x) - \sum_m \log p(a_m^z) + \mathrm{const}
    """
    gain_has, gain_lacks = log_has - np.log(prior), log_lacks - np.log1p(-prior)
    scores: Array = (gain_has - gain_lacks) @ B.T + gain_lacks.sum(axis=1, keepdims=True)
    return scores
