r"""How far probabilities can be believed, measured on images whose classes are known.

* **Expected calibration error**: images go into ``BINS`` intervals of equal width by the probability of their name.
  The mean over images of how far the share of right names of their interval is from its mean probability
  (C. Guo, G. Pleiss, Y. Sun, K. Weinberger. On calibration of modern neural networks. ICML 2017).
* **Brier score**: :math:`\sum_k (p_k - [k = y])^2` in the mean over images; from 0 to 2.
* **AUROC of "none of these"**: how often an image has a higher probability as it is than another one whose own class is
  taken away.
* **Risk and coverage**: the share of wrong names among the images that are named, if only the most probable ones are,
  for every number of them. Its mean is AURC.
"""

from typing import NamedTuple

import numpy as np

from aezsl.arrays import Array, Labels, Mask
from aezsl.evaluation.confidence import probabilities, without_true
from aezsl.evaluation.ranking import Ranking

#: Intervals of probabilities.
BINS = 15


class Reliability(NamedTuple):
    """Intervals with at least one image."""

    share: Array  # of all images
    probability: Array  # in the mean
    accuracy: Array


def reliability(probability: Array, right: Mask, bins: int = BINS) -> Reliability:
    """Probabilities (n,) of names beside the share of right ones."""
    interval = np.minimum((probability * bins).astype(int), bins - 1)
    counts = np.bincount(interval, minlength=bins)
    used = counts > 0
    means = (np.bincount(interval, values, bins)[used] / counts[used] for values in (probability, right))
    return Reliability(counts[used] / len(right), *means)


def expected_calibration_error(probability: Array, right: Mask) -> float:
    """How far probabilities are from the share of right names."""
    found = reliability(probability, right)
    return float(found.share @ np.abs(found.probability - found.accuracy))


def brier_score(ranking: Ranking, true: Labels, temperature: float) -> float:
    """The squared error of all probabilities."""
    shares = probabilities(ranking, temperature)
    of_true = np.where(ranking.classes == true[:, None], shares, 0.0).sum(axis=1)
    return float(np.mean(np.square(shares).sum(axis=1) - 2 * of_true + 1))


def none_auroc(ranking: Ranking, true: Labels, temperature: float) -> float:
    """How well the probability of its name tells an image from one whose class is taken away; NaN for one class."""
    if ranking.classes.shape[1] < 2:
        return np.nan
    shown = probabilities(ranking, temperature)[:, 0]
    absent = np.sort(probabilities(without_true(ranking, true), temperature)[:, 0])
    below, to = (np.searchsorted(absent, shown, side) for side in ("left", "right"))  # type: ignore[call-overload]
    return float((below + to).mean() / (2 * len(absent)))


def risk_coverage(probability: Array, right: Mask) -> tuple[Array, Array]:
    """Coverage and risk (n,) with the 1, 2, ... n most probable names; equally probable ones count alike."""
    values, group = np.unique(-probability, return_inverse=True)
    risk_of_group = np.bincount(group, ~right, len(values)) / np.bincount(group, minlength=len(values))
    named = np.arange(1, len(right) + 1)
    return named / len(right), np.cumsum(risk_of_group[np.sort(group)]) / named
