"""The constant of calibrated stacking, chosen on validation classes and held-out training images."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from aezsl.data.problem import Problem
from aezsl.evaluation.calibration import SeenUnseenCurve, choose_constant, seen_unseen_curve
from aezsl.methods import make_method
from aezsl.selection.folds import class_folds, class_split, held_out_mask


def validated_constant(
    name: str,
    problem: Problem,
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
        (X, y, S), (X_val, y_val, S_val) = class_split(problem.X_train, problem.y_train, problem.S_seen, held_out)
        test = held_out_mask(y, settings["seen_test_fraction"], selection["seed"])
        model = make_method(name, **chosen).fit(X[~test], y[~test], S)
        X_all = np.vstack([X[test], X_val])
        seen, unseen = model.rank_sides(X_all, np.vstack([S, S_val]), len(S), 1)
        true = np.concatenate([y[test], y_val + len(S)])
        curves.append(seen_unseen_curve(true, seen, unseen, len(S), settings["per_class"]))
    return choose_constant(*curves, criterion=settings["criterion"])
