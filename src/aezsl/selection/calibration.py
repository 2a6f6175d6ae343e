"""The generalized setting on validation classes and held-out training images: its constant, and scores to choose by."""

from collections.abc import Iterator, Sequence

import numpy as np

from aezsl.arrays import Labels
from aezsl.data.draws import held_out_mask
from aezsl.data.normalise import Normalisation
from aezsl.data.once import Once
from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.calibration import SeenUnseenCurve, ausuc, choose_constant, seen_unseen_curve
from aezsl.kinds import Values
from aezsl.methods import make_method
from aezsl.methods.core.seen import Targets
from aezsl.selection.folds import class_split, problem_folds
from aezsl.selection.settings import CalibrationSettings, SelectionSettings
from aezsl.selection.validation import Fold, SeenArrays, Trial


def validated_constant(
    name: str,
    problem: Problem,
    normalisation: Normalisation,
    chosen: Values,
    selection: SelectionSettings,
    settings: CalibrationSettings,
) -> float:
    """What to subtract from seen scores, so that seen and unseen classes compete fairly.

    Some seen classes play unseen, a share of the other classes' images play seen test images; the constant is the one
    that is best on them by ``settings.criterion``.
    """
    problem.require("gzsl")
    data = problem.X_train, problem.y_train, problem.S_seen
    trial = Trial(make_method(name, **chosen), [{}], [problem.pending(normalisation)], problem.shared)
    curves = [
        curve
        for held_out in problem_folds(problem, selection)
        for curve in generalized_curves(trial, data, held_out, settings, selection.seed)
    ]
    return choose_constant(*curves, criterion=settings.criterion)


def generalized_curves(
    trial: Trial, data: SeenArrays, held_out: Labels, settings: CalibrationSettings, seed: int
) -> Iterator[SeenUnseenCurve]:
    """Seen and unseen accuracy on a fold of ``data`` at every constant: by normalisation, then by point.

    settings : of the calibration. A method with a pool learns from all that is validated on.
    """
    method, points = trial.method, trial.points
    true, fold = _generalized_fold(data, held_out, settings.seen_test_fraction, seed, trial.shared)
    for way, (seen, X, S) in enumerate(fold.examined(trial.normalisations)):
        pool = X if method.transductive else None
        targets = Targets(np.vstack([seen.S, S]), pool, len(points), progress=False)
        for model in trial.fit_points(seen, way):
            sides = model.adapt_to(targets).rank_sides(X, len(seen.S), 1)
            yield seen_unseen_curve(true, *sides, len(seen.S), settings.per_class)


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


def _generalized_fold(data: SeenArrays, held_out: Labels, share: float, seed: int, shared: Once) -> tuple[Labels, Fold]:
    """Labels of what is validated on, seen classes first, and the fold.

    Validated on are a share of the images of classes that stay seen, then those of the classes held out.
    """
    (X, y, S), (X_val, y_val, S_val) = class_split(*data, held_out)
    test = held_out_mask(y, share, seed)
    name = (held_out.tobytes(), share, seed)
    fold = Fold((X[~test], y[~test], S), np.vstack([X[test], X_val]), S_val, name, shared)
    return np.concatenate([y[test], y_val + len(S)]), fold
