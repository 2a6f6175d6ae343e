"""What accuracy to expect on images of unseen classes, from the scores of a selection alone."""

import re

import numpy as np
import pandas as pd


def expected_accuracy(table: pd.DataFrame) -> float | None:
    """The mean over folds of the accuracy on a fold, with the point that is best on the other folds.

    The accuracy of the chosen point itself is too good: it was chosen for it. Here no fold has a say in the point that
    is measured on it; of several points that are equally good on the others, the mean is taken. None where there is a
    single fold, or nothing was searched.

    table : of a selection, a row per point with ``score_<fold>``.
    """
    folds = [name for name in map(str, table) if re.fullmatch(r"score_\d+", name)]
    if len(folds) < 2:
        return None
    scores = table[folds].to_numpy(dtype=np.float64)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (len(folds) - 1)
    best = np.isclose(others, others.max(axis=0), rtol=0, atol=1e-12)
    return float(np.mean([scores[best[:, f], f].mean() for f in range(len(folds))]))
