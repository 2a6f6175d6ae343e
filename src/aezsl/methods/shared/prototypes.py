"""Classes as points among the samples: where semantics put them, and which one is nearest."""

import numpy as np
from scipy.linalg import solve

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics


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
