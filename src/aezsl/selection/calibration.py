"""The constant of calibrated stacking, chosen on validation classes and held-out training images."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from aezsl.arrays import Labels
from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import SeenUnseenCurve, choose_constant, seen_unseen_curve
from aezsl.methods import make_method
from aezsl.selection.folds import class_folds, class_split, held_out_mask
from aezsl.selection.validation import Fold


def validated_constant(
    name: str,
    problem: Problem,
    normalisation: Normalisation,
    chosen: Mapping[str, Any],
    selection: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> float:
    """What to subtract from seen scores, so that seen and unseen classes compete fairly.

    Some seen classes play unseen, a share of the other classes' images play seen test images; the constant is the one
    that is best on them by ``settings['criterion']``.
    """
    problem.require("gzsl")
    curves: list[SeenUnseenCurve] = []
    for held_out in class_folds(len(problem.S_seen), len(problem.S_unseen), **selection):
        true, fold = generalized_fold(problem, held_out, settings["seen_test_fraction"], selection["seed"])
        (examined,) = fold.examined([problem.pending(normalisation)])
        model = make_method(name, **chosen).fit_seen(examined.seen)
        n_seen = len(examined.seen.S)
        sides = model.rank_sides(examined.X, np.vstack([examined.seen.S, examined.S]), n_seen, 1)
        curves.append(seen_unseen_curve(true, *sides, n_seen, settings["per_class"]))
    return choose_constant(*curves, criterion=settings["criterion"])


def generalized_fold(problem: Problem, held_out: Labels, share: float, seed: int) -> tuple[Labels, Fold]:
    """Labels of what is validated on, seen classes first, and the fold: ``share`` of the other classes' images, then
    those of the classes held out.
    """
    (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
    test = held_out_mask(y, share, seed)
    name = (held_out.tobytes(), share, seed)
    fold = Fold((X[~test], y[~test], S), np.vstack([X[test], X_val]), S_val, name, problem.shared)
    return np.concatenate([y[test], y_val + len(S)]), fold
