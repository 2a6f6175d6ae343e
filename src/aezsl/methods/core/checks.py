"""Input that a method can work with, or an error that says what was expected and what came."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from aezsl.arrays import Array, Labels
from aezsl.errors import DataError

#: Sizes of numbers with which all methods work: squares and products of these neither overflow nor vanish.
SMALLEST, LARGEST = 1e-30, 1e7


def check_rows(name: str, rows: ArrayLike, width: int | None = None, what: str = "columns") -> Array:
    """A finite, non-empty, two-dimensional floating array in row order, of ``width`` columns where that is given.

    Numbers far outside of unit scale are refused: what they would be squared to is not a number any more.
    """
    array = _real(name, rows)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{name} must be a non-empty 2-D array (rows x {what}), got shape {array.shape}")
    if width is not None and array.shape[1] != width:
        raise DataError(f"{name} must have {width} {what} as in fit, got {array.shape[1]}")
    # Block by block: it may be a mapped file.
    largest = [float(np.abs(array[i : i + 4096]).max()) for i in range(0, len(array), 4096)]
    if not np.isfinite(largest).all():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        raise DataError(f"{name} has NaN or infinite values in {len(bad)} rows, the first is row {bad[0]}")
    if max(largest) > LARGEST or 0 < max(largest) < SMALLEST:
        raise DataError(
            f"{name} must be of a size near 1, its largest number at least {SMALLEST:g} and at most {LARGEST:g}, got "
            f"{max(largest):.3g}: normalise it, for example to unit length"
        )
    return np.ascontiguousarray(array)


def _real(name: str, rows: ArrayLike) -> Array:
    """An array of real numbers in single or double precision; nothing is dropped or reinterpreted on the way."""
    if issparse(rows):
        raise DataError(f"{name} must be a dense array, got a sparse one: give its toarray()")
    if np.ma.is_masked(rows):
        raise DataError(f"{name} has masked values: fill them, or drop their rows")
    try:
        array = np.asarray(rows)
    except (ValueError, TypeError, RuntimeError) as error:  # rows of unlike length, tensors that keep gradients
        raise DataError(f"{name} must be a matrix of numbers, its rows of one length; got none ({error})") from error
    if array.dtype in (np.float32, np.float64):
        return array
    texts = array.dtype.kind == "O" and any(isinstance(value, (str, bytes, complex)) for value in array.flat)
    if array.dtype.kind not in "fiubO" or texts:
        raise DataError(f"{name} must be numeric (real numbers), got dtype {array.dtype}")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numeric (real numbers), got dtype {array.dtype}") from error


def check_scores(scores: Array, model: object) -> Array:
    """Scores that can be compared: a class must never win because its score is not a number."""
    if not np.isfinite(scores).all():
        raise DataError(
            f"{type(model).__name__} has no finite scores for these samples: bring features and semantics to a size "
            "near 1, as in training"
        )
    return scores


def warn_of_ties(scores: Array, model: object) -> None:
    """Say so where every class has the same score, so that the first one would name every sample."""
    if len(scores) and scores.shape[1] > 1 and (scores == scores[:, :1]).all():
        warnings.warn(
            f"{type(model).__name__} gives all {scores.shape[1]} classes the same score, so that it can tell none from "
            "another: describe classes differently, bring features and semantics to unit length, or regularise less",
            stacklevel=2,
        )


@contextmanager
def solvable(model: object, what: str) -> Iterator[None]:
    """Say in a sentence that a system of equations has no solution in floating numbers."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"{type(model).__name__} cannot be {what} ({error}): bring features and semantics to a size near 1, drop "
            "repeated samples, or regularise more"
        ) from error


def check_semantics(name: str, S: ArrayLike, width: int | None = None) -> Array:
    """Class descriptions: as ``check_rows``, and no class whose vector is all zeros."""
    array = check_rows(name, S, width, "semantic dimensions")
    zero = np.flatnonzero(np.abs(array).max(axis=1) < SMALLEST)
    if len(zero):
        raise DataError(
            f"{name} has {len(zero)} all-zero rows (the first is row {zero[0]}): "
            "a class without a description cannot be told from others; describe it or drop it"
        )
    return array


def check_given(name: str, given: ArrayLike, n_classes: int) -> Array:
    """Semantics as they were given, beside normalised ones of the same classes."""
    array = check_semantics(name, given).astype(np.float64)
    if len(array) != n_classes:
        raise DataError(f"{name} must describe the same {n_classes} classes as S, got {len(array)} rows")
    return array


def check_labels(y: ArrayLike, n_samples: int, n_classes: int) -> Labels:
    """Labels 0 .. n_classes - 1, each with at least one sample."""
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise DataError(f"y must have one label per row of X, expected shape ({n_samples},), got {labels.shape}")
    if not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"y must hold integer row numbers of S, got dtype {labels.dtype}")
    if labels.min() < 0 or labels.max() >= n_classes:
        raise DataError(
            f"y must index the {n_classes} rows of S (0 .. {n_classes - 1}), got {labels.min()} .. {labels.max()}; "
            "1-based labels must be shifted by one"
        )
    check_counts(np.bincount(labels, minlength=n_classes))
    return labels


def check_counts(counts: Labels) -> None:
    """Every class must have samples."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        raise DataError(f"{len(empty)} rows of S have no sample in y (the first is row {empty[0]}): drop them from S")
