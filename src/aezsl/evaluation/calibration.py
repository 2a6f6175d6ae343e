r"""Generalized zero-shot learning with calibrated stacking: one constant subtracted from all seen scores.

.. math:: \hat y(x) = \arg\max_{c \in S \cup U} f_c(x) - \gamma\,[c \in S]

(W.-L. Chao, S. Changpinyo, B. Gong, F. Sha. An empirical study and analysis of generalized zero-shot learning for
object recognition in the wild. ECCV 2016.)

A sample is ranked once among the seen and once among the unseen classes; these two rankings hold all that any constant
can do with it. (Both from scores for all classes together, columns split: a method whose classes depend on one another
scores a class differently when it is asked with others.) Its prediction is the best seen class for as long as

.. math:: \gamma \le \max_{c \in S} f_c(x) - \max_{c \in U} f_c(x)

and the best unseen class from there on, so one sort of these differences gives every accuracy at every constant,
without a grid.

Classes are numbered seen first (0 .. n_seen - 1), then unseen. Of equal scores the lower number wins: a tie between a
seen and an unseen class goes to the seen one, hence the :math:`\le` above. Scores are compared as differences in
float64 throughout, so that curve and merged ranking agree at every constant, to the last bit.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Labels
from aezsl.errors import DataError
from aezsl.evaluation.ranking import Ranking

Values = NDArray[np.float64]

#: Criteria less than this apart are equal: sums of class shares carry rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class SeenUnseenCurve:
    """Accuracies on samples of seen and of unseen classes, all classes being candidates, as functions of the constant.

    They are steps: point j holds for every constant in ``(breaks[j - 1], breaks[j]]``, the first from minus infinity,
    the last to infinity. Seen accuracy falls from point to point and ends at 0, unseen accuracy starts at 0 and rises.
    The accuracy of a side without samples is NaN.
    """

    breaks: Values  # (m,) strictly increasing
    seen: Values  # (m + 1,)
    unseen: Values  # (m + 1,)
    seen_share: float  # the seen side's weight in the overall accuracy: its share of the samples, or of the classes

    @property
    def accuracy(self) -> Values:
        """Accuracy over all samples (or classes) of every point."""
        return self.seen_share * np.nan_to_num(self.seen) + (1 - self.seen_share) * np.nan_to_num(self.unseen)

    @property
    def harmonic(self) -> Values:
        """Harmonic mean of seen and unseen accuracy of every point; 0 where both are 0."""
        total = self.seen + self.unseen
        return 2 * self.seen * self.unseen / np.where(total == 0, 1.0, total)

    @property
    def constants(self) -> Values:
        """A constant for every point: the middle of its interval; 0 in an endless one, or half a mean interval inside.

        Away from breaks, so that the constant also does its work where scores are rounded after subtraction.
        """
        b = self.breaks
        if len(b) == 0:
            return np.zeros(1)
        middle = b[:-1] + np.diff(b) / 2
        middle = np.where(middle > b[:-1], middle, b[1:])  # neighbouring floats have no middle; the upper end belongs
        away = (b[-1] - b[0]) / (2 * (len(b) - 1)) if len(b) > 1 else 1.0
        above = max(b[-1] + away, np.nextafter(b[-1], np.inf))
        return np.concatenate([[min(b[0] - away, 0.0)], middle, [max(above, 0.0)]])

    def index(self, constant: float | Values) -> NDArray[np.intp]:
        """The point that holds at a constant, or at each of many."""
        return np.asarray(np.searchsorted(self.breaks, constant, side="left"))

    def at(self, constant: float) -> "SeenUnseenPoint":
        """All accuracies at a constant."""
        values = (self.seen, self.unseen, self.accuracy, self.harmonic)
        return SeenUnseenPoint(*(float(value[self.index(constant)]) for value in values))


class SeenUnseenPoint(NamedTuple):
    """One point of the curve; NaN where a side has no samples."""

    seen: float
    unseen: float
    accuracy: float
    harmonic: float


def seen_unseen_curve(
    true: Labels, seen: Ranking, unseen: Ranking, n_seen: int, per_class: bool = True
) -> SeenUnseenCurve:
    """The exact curve, from one sort.

    true: (n,) classes, seen first, then unseen. seen, unseen: the samples ranked among seen classes (numbered from 0)
    and among unseen classes (also numbered from 0). per_class: every class that occurs counts the same, else every
    sample does.
    """
    _check(true, seen, unseen, n_seen)
    is_seen = true < n_seen
    right = np.where(is_seen, seen.classes[:, 0] == true, unseen.classes[:, 0] == true - n_seen)
    # Only these samples are ever right, at constants up to the difference (seen) or above it (unseen).
    differences = _difference(seen.scores[:, 0], unseen.scores[:, 0])[right]
    breaks, at = np.unique(differences, return_inverse=True)

    weights = 1.0 / np.bincount(true)[true] if per_class else np.ones(len(true))
    totals = np.array([weights[~is_seen].sum(), weights[is_seen].sum()])
    if per_class:
        totals = np.round(totals)  # numbers of classes
    gained = [np.bincount(at[side], weights[right][side], len(breaks)) for side in (~is_seen[right], is_seen[right])]
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of a side without samples
        return SeenUnseenCurve(
            breaks=breaks,
            seen=np.minimum(np.append(np.cumsum(gained[1][::-1])[::-1], 0.0) / totals[1], 1.0),
            unseen=np.minimum(np.append(0.0, np.cumsum(gained[0])) / totals[0], 1.0),
            seen_share=float(totals[1] / totals.sum()),
        )


def ausuc(curve: SeenUnseenCurve) -> float:
    """Area under the seen-unseen accuracy curve; NaN where a side has no samples.

    Points are joined by straight lines. Where no two differences are equal each step changes one of the two accuracies
    only, and the area is that of the stairs.
    """
    return float(-np.trapezoid(curve.unseen, curve.seen))


def choose_constant(*curves: SeenUnseenCurve, criterion: str = "ausuc") -> float:
    r"""The constant that is best on validation classes: the highest mean of the criterion over the curves given.

    criterion:

    * ``ausuc``: the product of seen and unseen accuracy. AUSUC itself integrates over all constants and so prefers none
      (it is for choosing methods and their parameters, and is the same before and after calibration). What can be
      chosen is one point, and the area that a single constant secures under the falling curve is the rectangle
      below its point, :math:`A_S(\gamma) A_U(\gamma)`: the AUSUC of a curve known at this constant only.
    * ``harmonic``: their harmonic mean, the usual single number of generalized zero-shot learning.
    * ``accuracy``: the overall accuracy; it depends on how many seen and unseen samples (classes) validation has.

    Between breaks nothing changes, so one constant per interval is tried, the middle, and 0. Of equally good ones the
    one nearest to 0 is taken: scores are corrected only as far as it helps.
    """
    if not curves:
        raise DataError("choosing a constant needs at least one seen-unseen curve")
    if criterion not in ("ausuc", "harmonic", "accuracy"):
        raise DataError(f"unknown criterion {criterion!r}; expected 'ausuc', 'harmonic' or 'accuracy'")
    if criterion != "accuracy" and any(np.isnan(ausuc(curve)) for curve in curves):
        raise DataError(
            f"criterion {criterion!r} needs validation samples of seen and of unseen classes, one side is empty"
        )
    empty = np.empty(0)
    joint = SeenUnseenCurve(np.unique(np.concatenate([c.breaks for c in curves])), empty, empty, 0.0)
    candidates = np.append(joint.constants, 0.0)
    values = np.mean([_criterion(curve, criterion)[curve.index(candidates)] for curve in curves], axis=0)
    best = candidates[values >= values.max() - ROUNDING]
    return float(best[np.abs(best).argmin()])


def merge(seen: Ranking, unseen: Ranking, constant: float, n_seen: int, n_unseen: int, k: int) -> Ranking:
    """The k best of all classes, seen first in number, with the constant subtracted from all seen scores.

    Exact from the k best of either side (all of it, where it has fewer classes): a class beyond the k best of its own
    side cannot be among the k best of both. At constant 0 it is the ranking of all classes together.
    """
    for side, ranking, size in (("seen", seen, n_seen), ("unseen", unseen, n_unseen)):
        _check_side(side, ranking, size, k)
    n, k_seen, k_unseen = len(seen.classes), seen.classes.shape[1], unseen.classes.shape[1]
    # A class's place: its place on its own side, plus the number of classes of the other side that go before it.
    seen_places = np.tile(np.arange(k_seen), (n, 1))
    unseen_places = np.tile(np.arange(k_unseen), (n, 1))
    for j in range(k_unseen):
        seen_wins = _difference(seen.scores, unseen.scores[:, j, None]) >= constant  # the lower number wins ties
        seen_places += ~seen_wins
        unseen_places[:, j] += seen_wins.sum(axis=1)
    places = np.hstack([seen_places, unseen_places])
    classes = np.hstack([seen.classes, unseen.classes + n_seen])
    scores = np.hstack([seen.scores - np.float64(constant), unseen.scores])
    order = np.argsort(places, axis=1)[:, :k]
    return Ranking(np.take_along_axis(classes, order, 1), np.take_along_axis(scores, order, 1))


def _criterion(curve: SeenUnseenCurve, criterion: str) -> Values:
    return {"ausuc": curve.seen * curve.unseen, "harmonic": curve.harmonic, "accuracy": curve.accuracy}[criterion]


def _difference(seen: NDArray[np.floating[Any]], unseen: NDArray[np.floating[Any]]) -> Values:
    """The one place where a seen and an unseen score are compared; monotone in both, 0 only where they are equal."""
    return seen.astype(np.float64) - unseen.astype(np.float64)


def _check(true: Labels, seen: Ranking, unseen: Ranking, n_seen: int) -> None:
    if not len(true) == len(seen.classes) == len(unseen.classes) or len(true) == 0:
        raise DataError(
            "true labels and both rankings must be of the same samples, at least one, "
            f"got {len(true)}, {len(seen.classes)} and {len(unseen.classes)}"
        )
    if seen.classes.max() >= n_seen:
        raise DataError(f"the ranking among seen classes names class {seen.classes.max()}, but n_seen is {n_seen}")


def _check_side(side: str, ranking: Ranking, size: int, k: int) -> None:
    needed, given = min(k, size), ranking.classes.shape[1]
    if given < needed:
        raise DataError(f"merging the {k} best needs the {needed} best of {size} {side} classes, got {given}")
    if (np.diff(ranking.scores, axis=1) > 0).any():
        raise DataError(f"the ranking among {side} classes is not in the order of its scores and cannot be merged")
