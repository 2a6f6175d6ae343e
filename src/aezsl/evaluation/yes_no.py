r"""Several labels may be true of an image: every label has a probability of yes or no of its own.

.. math:: p_l(x) = \frac{1}{1 + e^{-(a + b f_l(x) - c \, r(x))}}

where :math:`f_l` is the score of the label and :math:`r` the best score of a class that the model knows already: the
same score says less of an image that a known class suits well. No other label plays a part, so probabilities do not
add up to one. a, b and c are those of the logistic regression on pairs of validation images and classes, where images
count alike with their own class in the list and without it. A trained model has :math:`r` among ``RIVALS`` of its seen
classes, the photo model among all classes of its network.
"""

from dataclasses import dataclass

import numpy as np

from aezsl.arrays import Array, Labels, Mask
from aezsl.errors import DataError

#: Known classes at most that a label is measured by.
RIVALS = 64

#: From this probability on a label is said of an image.
YES = 0.5


def rival_classes(n_known: int) -> Labels:
    """The known classes that labels are measured by."""
    return np.unique(np.linspace(0, n_known - 1, RIVALS).astype(int))


@dataclass(frozen=True)
class YesNo:
    """What makes probabilities of yes and no of a model's scores; see above for the rule."""

    intercept: float
    score: float
    rival: float

    def __post_init__(self) -> None:
        if not np.isfinite([self.intercept, self.score, self.rival]).all():
            raise DataError("the numbers of a rule for yes and no must be finite")

    def probabilities(self, scores: Array, rivals: Array) -> Array:
        """Of every label (n, L): its scores (n, L), and the best score of a known class (n,)."""
        from scipy.special import expit

        found: Array = expit(self.intercept + self.score * scores - self.rival * rivals[:, None])
        return found


def fit_yes_no(scores: Array, rivals: Array, true: Mask, weights: Array | None = None) -> YesNo:
    """The rule that suits pairs (m,) of images and labels best; true : whether the label is.

    Answers are counted by the rule of succession, so that a few pairs that are all alike do not make one certain.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    weights = np.ones(len(true)) if weights is None else weights
    n_yes = max(true.sum(), 1)
    n_no = max(len(true) - n_yes, 1)
    wanted = np.where(true, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    plain = np.column_stack([np.ones(len(true)), scores, -rivals])
    shift, scale = plain.mean(axis=0), plain.std(axis=0)
    shift[0], scale[scale == 0] = 0.0, 1.0
    X = (plain - shift) / scale

    def loss(v: Array) -> tuple[float, Array]:
        logits = X @ v
        value = weights @ (np.logaddexp(0, logits) - wanted * logits)
        return float(value / weights.sum()), X.T @ (weights * (expit(logits) - wanted)) / weights.sum()

    v = minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x / scale
    v[0] -= v[1:] @ shift[1:]
    return YesNo(*(float(one) for one in v))
