r"""How sure an answer is: scores as probabilities, and when an image shows none of the classes.

**The one rule.** With the scores :math:`f_1 \ge \dots \ge f_K` of the K best classes of an image, K = 20 at most,

.. math:: p_k = \frac{e^{f_k / T}}{\sum_{j=1}^{K} e^{f_j / T}}

is the probability of the k-th one; further classes have none. The temperature T is the one with which, over validation
images, :math:`p_1` is in the mean the share of right names to expect (``aezsl.evaluation.expectation``), so that a few
classes that are all right do not make an answer certain. In the mean :math:`p_1` falls as T grows, from 1 to 1 / K, so
T is unique; where no T will do, the nearest one is taken.

**From folds to the model.** A model that learns from more classes than a fold's has scores of another scale. So T is
found in *spreads*: scores of a fold are divided by the deviation of those that its model gives the images it has learnt
from, for classes that are not theirs, and T is multiplied by that of the model itself.

**None of these.** An answer with :math:`p_1 < \theta` is that. Every validation image plays both parts: as it is, and
with its own class taken away, so that it shows none of the others. :math:`\theta` makes most answers right,

.. math:: (1 - \pi) \, \#\{\text{rightly named}, p_1 \ge \theta\} + \pi \, \#\{\text{class taken away}, p_1 < \theta\}

where :math:`\pi` is the share of images that are expected to show none of the classes. Of equal ones the
least is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aezsl.arrays import Array, Labels, Mask
from aezsl.errors import DataError
from aezsl.evaluation.expectation import Expectation
from aezsl.evaluation.ranking import Ranking
from aezsl.evaluation.yes_no import YesNo

#: Classes at most that share the probability of an image: as many as a run keeps of its ranking.
SHARING = 20

#: How an image is called that shows none of the classes.
NONE_OF_THESE = "none of these"
#: Its number, where labels have numbers.
NOTHING = -1

#: Temperatures are sought from a hundredth of the scores' deviation to a hundred times that.
WIDEST = 100.0
#: Halvings of that interval, on a logarithmic scale: they leave less of it than rounding does.
HALVINGS = 60


@dataclass(frozen=True)
class Confidence:
    """What makes probabilities of a model's scores; see above for the rule."""

    temperature: float | None = None  # of scores, or of spreads (see above); None: nothing was calibrated
    threshold: float = 0.0  # 0: never none of these
    stacking: "Stacking | None" = None  # None: seen and unseen classes compete by their scores as they are
    expectation: Expectation | None = None  # None: nothing is known of how right names will be
    yes_no: YesNo | None = None  # None: labels have no probabilities of their own

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Confidence":
        """Of what ``dataclasses.asdict`` gave."""
        kinds = {"stacking": Stacking, "expectation": Expectation, "yes_no": YesNo}
        made = {key: kind(**values[key]) for key, kind in kinds.items() if values.get(key) is not None}
        return cls(**{**values, **made})

    def __post_init__(self) -> None:
        if self.temperature is not None and not (np.isfinite(self.temperature) and self.temperature > 0):
            raise DataError(f"a temperature must be a positive number, got {self.temperature!r}")
        if not 0 <= self.threshold <= 1:
            raise DataError(f"the threshold of a confidence must be from 0 to 1, got {self.threshold!r}")

    def in_scores(self, spread: float) -> "Confidence":
        """For scores of this spread, where the temperature is one of spreads."""
        return self if self.temperature is None else replace(self, temperature=self.temperature * spread)


@dataclass(frozen=True)
class Stacking:
    """How seen and unseen classes compete (see ``aezsl.evaluation.calibration``), and what scores mean then."""

    constant: float  # subtracted from the scores of seen classes
    temperature: float
    threshold: float = 0.0
    relative: bool = (
        False  # constant and temperature count spreads of scores: those of a pool have a scale of their own
    )

    def __post_init__(self) -> None:
        if not np.isfinite(self.constant):
            raise DataError(f"the constant of calibrated stacking must be a number, got {self.constant!r}")
        Confidence(self.temperature, self.threshold)  # which checks them

    def constant_for(self, seen: Ranking, unseen: Ranking) -> float:
        """The constant for images that are ranked among seen and among unseen classes."""
        return self.constant * (spread(seen, unseen) if self.relative else 1.0)

    def temperature_for(self, ranking: Ranking) -> float:
        """The temperature for their ranking among all classes."""
        return self.temperature * (spread(ranking) if self.relative else 1.0)


@dataclass(frozen=True)
class Calibration:
    """A confidence, and what the validation images say of it."""

    confidence: Confidence
    n_images: int
    accuracy: float  # share of them that was rightly named
    kept: float  # of the rightly named ones, the share that keeps its name
    refused: float  # of those whose class was taken away, the share that is none of these


def spread(*rankings: Ranking) -> float:
    """How widely the best scores of an image are spread, in the mean: of one ranking, or of several sides together."""
    scores = np.hstack([ranking.scores[:, :SHARING].astype(np.float64) for ranking in rankings])
    return float(scores.std(axis=1).mean()) or 1.0 if len(scores) else 1.0


def probabilities(ranking: Ranking, temperature: float) -> Array:
    """Probabilities (n, k) of the ranked classes, in their order; from the ``SHARING``-th on they are 0."""
    # A transductive method puts its final label first, whatever the scores say: the scores follow that order.
    scores = -np.sort(-ranking.scores.astype(np.float64), axis=1)
    shares = np.zeros_like(scores)
    if scores.size:
        scaled = scores[:, :SHARING] / temperature
        parts = np.exp(scaled - scaled[:, :1])  # the first one is the best
        shares[:, :SHARING] = parts / parts.sum(axis=1, keepdims=True)
    return shares


def calibrate(ranking: Ranking, true: Labels, none_share: float, expected: float) -> Calibration:
    """The confidence that suits the rankings of validation images, whose classes are ``true``.

    ranking : ``SHARING + 1`` best classes, or all, so that one can be taken away. none_share : pi of the rule.
    expected : the share of right names to expect.
    """
    whole = Ranking(ranking.classes[:, :SHARING], ranking.scores[:, :SHARING])
    right = whole.classes[:, 0] == true
    temperature = _temperature(whole, expected)
    best = probabilities(whole, temperature)[:, 0]
    if ranking.classes.shape[1] < 2:  # without its class nothing would be left
        return Calibration(Confidence(temperature), len(true), float(right.mean()), 1.0, 0.0)
    without = probabilities(without_true(ranking, true), temperature)[:, 0]
    threshold = _threshold(best, right, without, none_share)
    kept = float((best[right] >= threshold).mean()) if right.any() else 1.0
    refused = float((without < threshold).mean())
    return Calibration(Confidence(temperature, threshold), len(true), float(right.mean()), kept, refused)


def _temperature(ranking: Ranking, wanted: float) -> float:
    """The temperature at which the mean of the first probability is ``wanted``, by halving on a logarithmic scale."""
    spread = float(ranking.scores.astype(np.float64).std(axis=1).mean()) or 1.0
    low, high = np.log(spread / WIDEST), np.log(spread * WIDEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if probabilities(ranking, np.exp(middle))[:, 0].mean() > wanted:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def without_true(ranking: Ranking, true: Labels) -> Ranking:
    """The rankings without the true class of each image; without the last one where it is not among them."""
    n, k = ranking.classes.shape
    at = ranking.classes == true[:, None]
    at[~at.any(axis=1), k - 1] = True
    return Ranking(ranking.classes[~at].reshape(n, k - 1), ranking.scores[~at].reshape(n, k - 1))


def _threshold(best: Array, right: Mask, without: Array, none_share: float) -> float:
    """The least of the thresholds that make most answers right."""
    tried = np.unique(np.concatenate([[0.0], best[right], without]))
    kept = right.sum() - np.searchsorted(np.sort(best[right]), tried)
    refused = np.searchsorted(np.sort(without), tried)
    return float(tried[np.argmax((1 - none_share) * kept + none_share * refused)])
