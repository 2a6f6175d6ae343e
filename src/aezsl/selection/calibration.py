"""The generalized setting on validation classes and held-out training images, and what scores are measured by."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.draws import held_out_mask
from aezsl.data.problem import SeenArrays
from aezsl.errors import DataError
from aezsl.evaluation.calibration import SeenUnseenCurve, ausuc, choose_constant, seen_unseen_curve
from aezsl.evaluation.confidence import spread
from aezsl.evaluation.ranking import Ranking
from aezsl.machine.workers import Once
from aezsl.methods import TargetClassifier, ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.selection.folds import class_split, split_classes
from aezsl.selection.settings import CalibrationSettings
from aezsl.selection.validation import Examined, Fold, Trial

#: Classes at most by which the spread of scores is measured: some methods take their time to adapt to each.
REFERENCES = 16


class Sides(NamedTuple):
    """What is validated on in a fold, ranked among seen classes and among those that play unseen."""

    true: Labels  # seen classes first, then those held out
    seen: Ranking
    unseen: Ranking
    n_seen: int
    n_unseen: int

    def relative(self) -> "Sides":
        """The same with scores in spreads."""
        scale = 1 / spread(self.seen, self.unseen)
        return self._replace(seen=self.seen.scaled(scale), unseen=self.unseen.scaled(scale))


def generalized_sides(
    trial: Trial, data: SeenArrays, held_out: Labels, settings: CalibrationSettings, seed: int, k: int
) -> Iterator[Sides]:
    """The k best classes of either side on a fold of ``data``: by normalisation, then by point.

    settings : of the calibration. A method with a pool learns from all that is validated on.
    """
    method, points = trial.method, trial.points
    true, fold = generalized_fold(data, held_out, settings.seen_test_fraction, seed, trial.shared)
    for way, examined in enumerate(fold.examined(trial.normalisations)):
        targets = all_targets(examined, method.transductive, len(points))
        for model in trial.fit_points(examined.seen, way):
            yield sides_of(model.adapt_to(targets), examined, true, k)


def all_targets(examined: Examined[Array], transductive: bool, n_points: int = 1) -> Targets:
    """Seen classes of a fold, then those that play unseen; what is validated on is the pool, if one is learnt from."""
    seen, X, S, given = examined
    both = None if given is None else np.vstack([seen.given, given])
    return Targets(np.vstack([seen.S, S]), X if transductive else None, n_points, progress=False, unmoved=both)


def sides_of(classifier: TargetClassifier, examined: Examined[Array], true: Labels, k: int) -> Sides:
    """The k best classes of either side, by the classifier of ``all_targets``."""
    n_seen = len(examined.seen.S)
    return Sides(true, *classifier.rank_sides(examined.X, n_seen, k), n_seen, len(examined.S))


def generalized_curves(
    trial: Trial, data: SeenArrays, held_out: Labels, settings: CalibrationSettings, seed: int
) -> Iterator[SeenUnseenCurve]:
    """Seen and unseen accuracy on a fold at every constant, in the order of ``generalized_sides``."""
    for sides in generalized_sides(trial, data, held_out, settings, seed, 1):
        yield seen_unseen_curve(*sides[:4], settings.per_class)


def generalized_scores(curves: Sequence[SeenUnseenCurve], criterion: str, settings: CalibrationSettings) -> list[float]:
    """The score of one point in every fold, given its curves.

    criterion : ``ausuc``, the area under the curve; or ``harmonic``, the harmonic mean at the constant that the
    calibration would choose on these folds.
    """
    if any(np.isnan(ausuc(curve)) for curve in curves):
        raise DataError(
            f"criterion {criterion!r} needs held-out images of seen classes, but no class has images to spare: "
            "raise calibration.seen_test_fraction, or set selection.criterion to accuracy"
        )
    if criterion == "ausuc":
        return [ausuc(curve) for curve in curves]
    constant = choose_constant(*curves, criterion=settings.criterion)
    return [curve.at(constant).harmonic for curve in curves]


def generalized_fold(data: SeenArrays, held_out: Labels, share: float, seed: int, shared: Once) -> tuple[Labels, Fold]:
    """Labels of what is validated on, seen classes first, and the fold.

    Validated on are a share of the images of classes that stay seen, then those of the classes held out.
    """
    (X, y, S), (X_val, y_val, S_val) = class_split(data.X, data.y, data.S, held_out)
    test = held_out_mask(y, share, seed)
    name = (held_out.tobytes(), share, seed)
    given = split_classes(data.given, held_out)
    fold = Fold((X[~test], y[~test], S), np.vstack([X[test], X_val]), S_val, name, shared, given)
    return np.concatenate([y[test], y_val + len(S)]), fold


def learnt_spread(model: ZeroShotClassifier, seen: SeenData) -> float:
    """The deviation of the scores that a fitted method gives its own images, for classes that are not theirs.

    1 where a pool is learnt from, too: it gives scores a scale of its own.
    """
    if model.transductive:
        return 1.0
    chosen = np.unique(np.linspace(0, len(seen.S) - 1, REFERENCES).astype(int))
    scores = model.adapt(seen.S[chosen], given=seen.given[chosen]).scores(seen.X)
    return float(scores[chosen != seen.y[:, None]].std()) or 1.0
