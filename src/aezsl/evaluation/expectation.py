r"""What share of right names to expect among any number of classes.

**From one number of classes to another.** Let the scores of an image be independent normal variables of deviation 1,
the one of its own class higher by d. Among K classes its name is right with probability

.. math:: A_K(d) = \int \varphi(x - d) \, \Phi(x)^{K - 1} \, dx

(D. Green, J. Swets. Signal detection theory and psychophysics. 1966). The d of an accuracy among some classes gives the
accuracy among any other number of them, and chance where the accuracy was chance.

**Few classes promise little.** With a mean accuracy a of C validation classes, :math:`(C a + 2 / K) / (C + 2)` is
expected: as if two further classes had been named by chance.

**The interval.** Accuracies of classes differ. Their variance is a share :math:`\rho` of a (1 - a), the largest there
can be. The mean of K new classes, when that of C others is known, is within

.. math:: \pm t_{C - 1} \sqrt{\rho \, a (1 - a) \left(\frac{1}{C} + \frac{1}{K}\right)}

of it with probability ``LEVEL``. :math:`\rho` is the share of the validation classes and, counting as much as two of
them, 0.4, which it is on many data (``python -m tests.benchmarks.bench_calibration expect``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from aezsl.arrays import Array
from aezsl.errors import DataError

#: Share of intervals that hold the accuracy.
LEVEL = 0.8

#: Classes named by chance that are added to those that were validated on.
ADDED = 2

#: The share rho of most data.
USUAL_SHARE = 0.4

#: An interval wider than this tells nothing.
WIDEST = 0.5

#: Classes with images that could be asked for: enough for any interval that more classes make narrow.
MOST_ASKED = 200

#: Values of d, and of the score that is integrated over.
DISTANCES, SCORES = np.linspace(0, 10, 401), np.linspace(-8, 18, 1041)


class Expected(NamedTuple):
    """The share of right names among ``n`` classes."""

    n: int
    accuracy: float
    low: float
    high: float

    @property
    def chance(self) -> float:
        """What guessing would give."""
        return 1 / self.n

    @property
    def tells(self) -> bool:
        """Whether the interval is narrow enough to say anything."""
        return self.high - self.low <= WIDEST


@dataclass(frozen=True)
class Expectation:
    """How validation classes were named, with parameters that were not chosen on them."""

    accuracy: float  # in the mean over classes
    deviation: float  # between classes
    n_classes: int  # that played unseen
    among: int  # how many of them an image was named among

    def __post_init__(self) -> None:
        numbers = self.accuracy, self.deviation
        if not (np.isfinite(numbers).all() and 0 <= self.accuracy <= 1 and self.deviation >= 0):
            raise DataError(f"accuracy and deviation of an expectation must be shares, got {numbers}")
        if self.n_classes < 2 or self.among < 2:
            raise DataError(f"an expectation needs two classes at least, got {self.n_classes} and {self.among}")

    def among_classes(self, n: int) -> Expected:
        """What to expect where an image is named among ``n`` classes."""
        return self._among(n, self.n_classes)

    def _among(self, n: int, n_classes: int) -> Expected:
        """The same, had ``n_classes`` been validated on."""
        from scipy.special import stdtrit

        accuracy = cautious(converted(self.accuracy, self.among, n), n_classes, 1 / n)
        reach = stdtrit(n_classes - 1, (1 + LEVEL) / 2) * np.sqrt(
            self._share * accuracy * (1 - accuracy) * (1 / n_classes + 1 / n)
        )
        return Expected(n, accuracy, max(0.0, accuracy - float(reach)), min(1.0, accuracy + float(reach)))

    @property
    def _share(self) -> float:
        """The variance between classes as a share of the largest there can be."""
        mean = cautious(self.accuracy, self.n_classes, 1 / self.among)
        own = min(1.0, self.deviation**2 / (mean * (1 - mean)))
        return ((self.n_classes - 1) * own + ADDED * USUAL_SHARE) / (self.n_classes - 1 + ADDED)

    def needed(self, n: int) -> int | None:
        """The least number of classes with images that would tell; None where more of them would not help."""
        numbers = (c for c in range(self.n_classes + 1, MOST_ASKED + 1) if self._among(n, c).tells)
        return next(numbers, None)

    def in_words(self, n: int) -> str:
        """A sentence for the user."""
        return ", ".join(self._parts(n))

    def _parts(self, n: int) -> Iterator[str]:
        told = self.among_classes(n)
        if n < 2:
            yield "with one class there is nothing to choose: the name is right wherever that class is shown"
            return
        if told.tells:
            yield f"expect {told.low:.0%} to {told.high:.0%} right names among {n} classes, about {told.accuracy:.0%}"
        else:
            yield f"too few classes to tell how many names will be right among {n}"
            needed = self.needed(n)
            yield f"photos of about {needed} classes would tell" if needed else "photos of more classes would help"
        yield f"guessing gives {told.chance:.0%}"


def cautious(accuracy: float, n_classes: int, chance: float) -> float:
    """An accuracy of few classes, drawn towards chance."""
    return (n_classes * accuracy + ADDED * chance) / (n_classes + ADDED)


def converted(accuracy: float, among: int, n: int) -> float:
    """The accuracy among ``n`` classes of what has ``accuracy`` among others."""
    return float(np.interp(np.interp(accuracy, _accuracies(among), DISTANCES), DISTANCES, _accuracies(n)))


@lru_cache(maxsize=64)
def _accuracies(n: int) -> Array:
    """The accuracy among ``n`` classes at every distance."""
    from scipy.special import ndtr

    density = np.exp(-np.square(SCORES - DISTANCES[:, None]) / 2) / np.sqrt(2 * np.pi)
    found: Array = density @ ndtr(SCORES) ** (n - 1) * (SCORES[1] - SCORES[0])
    return found
