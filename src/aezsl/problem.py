"""The zero-shot problem: the one place where names become indices, and where bad data is refused."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.vectors import Vectors

Array = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]

SETTINGS = ("zsl", "gzsl")


class ProblemError(ValueError):
    """The data cannot make a zero-shot problem; the message says what was expected, what came, what to do."""


@dataclass(frozen=True)
class Problem:
    """Seen data to learn from, test data to label. Labels are 0-based row numbers.

    In the setting ``zsl`` the targets are the unseen classes, in ``gzsl`` the seen classes followed by the
    unseen ones; ``y_test`` numbers the targets, and is None where the test labels are not known.
    """

    setting: str
    X_train: Array  # (n, d)
    y_train: Labels  # (n,) rows of S_seen
    S_seen: Array  # (Cs, a)
    seen_names: list[str]
    X_test: Array  # (m, d)
    y_test: Labels | None  # (m,) rows of S_target
    S_unseen: Array  # (Ct, a)
    unseen_names: list[str]
    test_ids: list[str]

    @property
    def S_target(self) -> Array:
        """Semantics of the classes among which test images are told apart."""
        return self.S_unseen if self.setting == "zsl" else np.vstack([self.S_seen, self.S_unseen])

    @property
    def target_names(self) -> list[str]:
        """Their names, in the same order."""
        return self.unseen_names if self.setting == "zsl" else self.seen_names + self.unseen_names

    def summary(self) -> dict[str, Any]:
        """Sizes and a fingerprint of everything a result depends on."""
        digest = hashlib.sha256()
        for array in (self.X_train, self.y_train, self.S_seen, self.X_test, self.y_test, self.S_unseen):
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
        return {
            "setting": self.setting,
            "n_train": len(self.X_train),
            "n_test": len(self.X_test),
            "n_seen": len(self.S_seen),
            "n_unseen": len(self.S_unseen),
            "n_features": self.X_train.shape[1],
            "n_semantics": self.S_seen.shape[1],
            "problem_fingerprint": digest.hexdigest()[:16],
        }


def build_problem(
    features: Vectors,
    semantics: Vectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    normalise: Mapping[str, Sequence[str]],
    setting: str = "zsl",
    unreadable: Sequence[str] = (),
) -> Problem:
    """Join the tables into a validated problem.

    classes : class_name, role. split : image_id, class_name, and a column per setting saying train, test or
    unused. normalise : steps for ``features`` and ``semantics``, see ``STEPS``; their statistics come from the
    training images and the seen classes only. unreadable : ids of images that were skipped on purpose.
    """
    if setting not in SETTINGS:
        raise ProblemError(f"unknown setting {setting!r}; expected one of: {', '.join(SETTINGS)}")
    seen, unseen = _class_names(classes)
    S = _matrix(semantics, seen + unseen, "classes", "semantics", "describe it, or drop the class")
    zero = np.flatnonzero(~S.any(axis=1))
    if len(zero):
        names = (seen + unseen)[zero[0]]
        raise ProblemError(
            f"{len(zero)} classes have an all-zero semantic vector, for example {names!r}: describe them"
        )
    split = split[~split["image_id"].isin(set(unreadable))]
    train, test = split[split[setting] == "train"], split[split[setting] == "test"]
    targets = unseen if setting == "zsl" else seen + unseen
    y_train = _labels(train, seen, "training", "seen")
    y_test = None if test["class_name"].isna().any() else _labels(test, targets, "test", "target")
    _check_split(split, train, test, seen)
    what = "extract its features, or set feature_extraction.on_error to skip"
    X_train = _matrix(features, train["image_id"].tolist(), "images", "features", what)
    X_test = _matrix(features, test["image_id"].tolist(), "images", "features", what)
    X_train, X_test = apply_steps(normalise["features"], X_train, X_test)
    S_seen, S_unseen = apply_steps(normalise["semantics"], S[: len(seen)], S[len(seen) :])
    return Problem(setting, X_train, y_train, S_seen, seen, X_test, y_test, S_unseen, unseen, test["image_id"].tolist())


def _class_names(classes: pd.DataFrame) -> tuple[list[str], list[str]]:
    repeated = classes["class_name"][classes["class_name"].duplicated()]
    if len(repeated):
        overlap = sorted(set(classes.loc[classes["role"] == "seen", "class_name"]) & set(repeated))
        overlap = [name for name in overlap if "unseen" in set(classes.loc[classes["class_name"] == name, "role"])]
        if overlap:
            raise ProblemError(f"{len(overlap)} classes are both seen and unseen, for example {overlap[0]!r}")
        raise ProblemError(f"class {repeated.iloc[0]!r} is listed more than once")
    seen, unseen = (classes.loc[classes["role"] == role, "class_name"].tolist() for role in ("seen", "unseen"))
    if len(seen) < 2 or len(unseen) < 1:
        raise ProblemError(
            f"a problem needs at least two seen classes and one unseen class, got {len(seen)} and {len(unseen)}: "
            "check the role column of the classes table"
        )
    return seen, unseen


def _check_split(split: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame, seen: list[str]) -> None:
    repeated = split["image_id"][split["image_id"].duplicated()]
    if len(repeated):
        raise ProblemError(f"{len(repeated)} image ids occur more than once, for example {repeated.iloc[0]!r}")
    if train.empty or test.empty:
        raise ProblemError(f"the split has {len(train)} training and {len(test)} test images; both must be there")
    without = sorted(set(seen) - set(train["class_name"]))
    if without:
        raise ProblemError(
            f"{len(without)} seen classes have no training image, for example {without[0]!r}: "
            "add images, or drop the classes"
        )


def _labels(rows: pd.DataFrame, names: list[str], part: str, kind: str) -> Labels:
    labels = pd.Index(names).get_indexer(pd.Index(rows["class_name"]))
    if (labels < 0).any():
        stranger = rows["class_name"].iloc[int((labels < 0).argmax())]
        raise ProblemError(
            f"{int((labels < 0).sum())} {part} images belong to no {kind} class, for example one of {stranger!r}"
        )
    return labels.astype(np.int64)


def _matrix(vectors: Vectors, wanted: list[str], kind: str, what: str, remedy: str) -> Array:
    rows = vectors.rows(wanted)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise ProblemError(
            f"{len(missing)} of {len(wanted)} {kind} have no vector in {what}, for example "
            f"{wanted[missing[0]]!r}: {remedy}"
        )
    matrix = vectors.matrix[rows].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise ProblemError(
            f"{len(bad)} {kind} have NaN or infinite {what}, for example {wanted[bad[0]]!r}: compute them anew"
        )
    return matrix


def _signed_sqrt(fit: Array, other: Array) -> tuple[Array, Array]:
    return np.sign(fit) * np.sqrt(np.abs(fit)), np.sign(other) * np.sqrt(np.abs(other))


def _centre(fit: Array, other: Array) -> tuple[Array, Array]:
    mean = fit.mean(axis=0)
    return fit - mean, other - mean


def _standardise(fit: Array, other: Array) -> tuple[Array, Array]:
    scale = fit.std(axis=0)
    scale[scale == 0] = 1.0
    return _centre(fit / scale, other / scale)


def _unit_length(fit: Array, other: Array) -> tuple[Array, Array]:
    tiny = np.finfo(np.float64).tiny
    return tuple(m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), tiny) for m in (fit, other))  # type: ignore


#: Normalisation steps by name. Statistics come from the first argument alone.
STEPS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "sqrt": _signed_sqrt,
    "centre": _centre,
    "standardise": _standardise,
    "l2": _unit_length,
}


def apply_steps(steps: Sequence[str], fit: Array, other: Array) -> tuple[Array, Array]:
    """Normalise two matrices by the named steps in order, learning from the first one only."""
    for step in steps:
        if step not in STEPS:
            raise ProblemError(f"unknown normalisation step {step!r}; expected a list of: {', '.join(STEPS)}")
        fit, other = STEPS[step](fit, other)
    return fit, other
