"""Input that a method can work with, or an error that says what was expected and what came."""

import numpy as np
from numpy.typing import ArrayLike

from aezsl.arrays import Array, Labels


def check_rows(name: str, rows: ArrayLike, width: int | None = None, what: str = "columns") -> Array:
    """A finite, non-empty, two-dimensional floating array, of ``width`` columns where that is given."""
    array = np.asarray(rows)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a non-empty 2-D array (rows x {what}), got shape {array.shape}")
    if array.dtype not in (np.float32, np.float64):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numeric, got dtype {array.dtype}") from error
    if width is not None and array.shape[1] != width:
        raise ValueError(f"{name} must have {width} {what} as in fit, got {array.shape[1]}")
    finite = [np.isfinite(array[i : i + 4096]).all() for i in range(0, len(array), 4096)]  # it may be a mapped file
    if not all(finite):
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        raise ValueError(f"{name} has NaN or infinite values in {len(bad)} rows, the first is row {bad[0]}")
    return array


def check_semantics(name: str, S: ArrayLike, width: int | None = None) -> Array:
    """Class descriptions: as ``check_rows``, and no class whose vector is all zeros."""
    array = check_rows(name, S, width, "semantic dimensions")
    zero = np.flatnonzero(~array.any(axis=1))
    if len(zero):
        raise ValueError(
            f"{name} has {len(zero)} all-zero rows (the first is row {zero[0]}): "
            "a class without a description cannot be told from others; describe it or drop it"
        )
    return array


def check_labels(y: ArrayLike, n_samples: int, n_classes: int) -> Labels:
    """Labels 0 .. n_classes - 1, each with at least one sample."""
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have one label per row of X, expected shape ({n_samples},), got {labels.shape}")
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"y must hold integer row numbers of S, got dtype {labels.dtype}")
    if labels.min() < 0 or labels.max() >= n_classes:
        raise ValueError(
            f"y must index the {n_classes} rows of S (0 .. {n_classes - 1}), got {labels.min()} .. {labels.max()}; "
            "1-based labels must be shifted by one"
        )
    check_counts(np.bincount(labels, minlength=n_classes))
    return labels


def check_counts(counts: Labels) -> None:
    """Every class must have samples."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        raise ValueError(f"{len(empty)} rows of S have no sample in y (the first is row {empty[0]}): drop them from S")
