"""Binary attributes and the maximum a posteriori rule that direct and indirect attribute prediction share."""

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Array
from aezsl.errors import DataError


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
