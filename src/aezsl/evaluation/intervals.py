"""How sure a difference is: intervals over splits."""

import numpy as np
from numpy.typing import NDArray

#: Share of intervals that cover the true value.
LEVEL = 0.95


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
