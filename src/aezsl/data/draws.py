"""Seeded draws of samples: a share of every class, and a part in which classes are of unlike size."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Labels, Mask
from aezsl.errors import ParameterError


def long_tail(y: Labels, ratio: float = 10.0, seed: int = 0) -> Labels:
    """Sorted rows of a part of the samples in which classes shrink evenly, in random order, down to 1 / ratio."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    kept = []
    for place, c in enumerate(classes):
        rows = np.flatnonzero(y == c)
        share = ratio ** (-place / max(len(classes) - 1, 1))
        kept.append(rng.choice(rows, max(1, round(len(rows) * share)), replace=False))
    return np.sort(np.concatenate(kept))


def held_out_mask(y: NDArray[Any], fraction: float, seed: int) -> Mask:
    """A seeded share of the samples of every label, never all of them; True where a sample is held out."""
    check_fraction(fraction)
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(y), dtype=bool)
    for rows in pd.Series(np.arange(len(y))).groupby(y).groups.values():
        count = min(round(len(rows) * fraction), len(rows) - 1)
        mask[rng.choice(np.asarray(rows), count, replace=False)] = True
    return mask


def check_fraction(fraction: float) -> None:
    """Refuse what is no share of something."""
    if not 0 < fraction < 1:
        raise ParameterError(f"fraction must be above 0 and below 1, got {fraction}")
