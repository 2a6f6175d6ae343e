r"""How sure an accuracy or a difference is: by the bootstrap within one run, and paired over several splits.

Per-class accuracy is a mean over classes of a mean over images. The bootstrap draws at both levels: classes with
replacement, and within every drawn class as many images as it has, with replacement. Drawing n images of a class with
accuracy p and counting the right ones is drawing from the binomial distribution of n and p, so no image is touched:
all replicates are one matrix of binomial numbers. A pair of methods on the same images is drawn together: an image is
right by one only, by the other only, or by both or none, which a binomial number for the first two together and one for
their share tell.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Labels, Mask

#: Share of intervals that cover the true value.
LEVEL = 0.95

#: Draws of the bootstrap, and the seed of all of them: the same predictions have the same interval.
N_DRAWS, SEED = 2000, 0

#: Numbers that are drawn together: 16 MB.
BLOCK = 2**21


class Difference(NamedTuple):
    """By how much one method is better than another, with its interval and a two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


def class_mean_interval(true: Labels, right: Mask, level: float = LEVEL) -> tuple[float, float]:
    """Percentile interval of per-class accuracy, over images within classes and over classes.

    true : (n,) classes of the samples, at least one. right : (n,) whether each was given its class.
    """
    _, classes, sizes = np.unique(true, return_inverse=True, return_counts=True)
    shares = np.bincount(classes, right) / sizes

    def draw(rng: np.random.Generator, drawn: Labels) -> NDArray[np.float64]:
        return np.asarray(rng.binomial(sizes[drawn], shares[drawn]) / sizes[drawn])

    low, high = np.quantile(_means(len(sizes), draw), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def paired_difference(true: Labels, right: Mask, other: Mask, level: float = LEVEL) -> Difference:
    """Per-class accuracy of one method minus that of another on the same samples, by a paired two-level bootstrap.

    right, other : (n,) whether each sample was given its class by the one and by the other method.
    The p-value is twice the smaller share of replicates on either side of 0, those at 0 counted on both.
    """
    _, classes, sizes = np.unique(true, return_inverse=True, return_counts=True)
    better, worse = (np.bincount(classes, only, len(sizes)) for only in (right & ~other, other & ~right))
    differing = better + worse
    share_better = np.divide(better, differing, out=np.zeros(len(sizes)), where=differing > 0)

    def draw(rng: np.random.Generator, drawn: Labels) -> NDArray[np.float64]:
        changed = rng.binomial(sizes[drawn], (differing / sizes)[drawn])
        return np.asarray((2 * rng.binomial(changed, share_better[drawn]) - changed) / sizes[drawn])

    means = _means(len(sizes), draw)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    tail = min(np.mean(means <= 0), np.mean(means >= 0))
    p = min(1.0, 2 * max(float(tail), 1 / (N_DRAWS + 1)))
    return Difference(float(np.mean((better - worse) / sizes)), float(low), float(high), p)


def _means(n_classes: int, draw: Callable[[np.random.Generator, Labels], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean over classes of every replicate; ``draw`` gives the values of drawn classes (draws, n_classes)."""
    rng = np.random.default_rng(SEED)
    step = max(1, BLOCK // n_classes)
    blocks = [min(step, N_DRAWS - start) for start in range(0, N_DRAWS, step)]
    return np.concatenate([draw(rng, rng.integers(0, n_classes, (rows, n_classes))).mean(axis=1) for rows in blocks])


def paired_interval(
    differences: NDArray[np.float64], overlap: float = 0.0, level: float = LEVEL
) -> tuple[float, float]:
    r"""Interval for the mean of paired differences :math:`d_1, \ldots, d_n` over repeated random splits.

    .. math:: \bar d \pm t_{n-1} \sqrt{\left(\frac{1}{n} + \rho\right) s^2},
        \qquad s^2 = \frac{1}{n-1} \sum_i (d_i - \bar d)^2

    differences : (n,), one per split. overlap : :math:`\rho`, test classes per training class. Splits of the same
    classes share most of what is learnt from, so that their differences are alike and the plain variance
    :math:`s^2 / n` is too small: hence :math:`\rho` (C. Nadeau, Y. Bengio. Inference for the generalization error.
    Machine Learning 2003). With ``overlap=0`` it is Student's. NaN for fewer than two splits.
    """
    n = len(differences)
    if n < 2:
        return float("nan"), float("nan")
    from scipy.stats import t

    mean, variance = differences.mean(), differences.var(ddof=1)
    reach = t.ppf((1 + level) / 2, n - 1) * np.sqrt((1 / n + overlap) * variance)
    return float(mean - reach), float(mean + reach)
