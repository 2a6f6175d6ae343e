"""From tables to a problem: the one place where names become indices, and where bad data is refused."""

import logging
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from aezsl.arrays import Array, Labels
from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import (
    NOTHING,
    PARTS,
    Normaliser,
    Steps,
    fit_normaliser,
    fit_normaliser_in_blocks,
    given_beside,
    listed_alternatives,
)
from aezsl.data.problem import BLOCK, Problem
from aezsl.data.vectors import NamedVectors
from aezsl.errors import DataError, counted
from aezsl.machine.screen import progress_bar

log = logging.getLogger(__name__)

SETTINGS = ("zsl", "gzsl")
#: Blocks from which on a pass over features shows how far it is: seconds of work.
MANY_BLOCKS = 16


def drop_undescribed(
    semantics: NamedVectors, classes: pd.DataFrame, split: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables without the classes that the embedding of semantics could not describe."""
    without = set(semantics.config.get("without_vector", []))
    return classes[~classes["class_name"].isin(without)], split[~split["class_name"].isin(without)]


def build_problem(
    features: NamedVectors,
    semantics: NamedVectors,
    classes: pd.DataFrame,
    split: pd.DataFrame,
    normalise: Mapping[str, Steps],
    setting: str = "zsl",
    unreadable: Sequence[str] = (),
    store: MappedArrays | None = None,
    least_seen: int = 2,
) -> Problem:
    """Join the tables into a validated problem.

    classes : class_name, role. split : image_id, class_name, and a column per setting saying train, test or
    unused. normalise : steps for ``features`` and ``semantics``, see ``aezsl.data.normalise``; their statistics come
    from the training images and the seen classes only. With alternatives for either, vectors stay as they are, and the
    problem keeps the alternatives. unreadable : ids of images that were skipped on purpose.
    store : where X_train and X_test are kept as mapped files of float32; without, they are in memory in float64.
    least_seen : fewer seen classes are refused; a method that knows others needs none.
    """
    if setting not in SETTINGS:
        raise DataError(f"unknown setting {setting!r}; expected one of: {', '.join(SETTINGS)}")
    seen, unseen = _class_names(classes, least_seen)
    S = _matrix(semantics, seen + unseen, "classes", "semantics", "describe it, or drop the class")
    zero = np.flatnonzero(~S.any(axis=1))
    if len(zero):
        names = (seen + unseen)[zero[0]]
        raise DataError(
            f"{counted(len(zero), 'classes have', 'class has')} an all-zero semantic vector, "
            f"for example {names!r}: describe them"
        )
    _warn_of_alike(S, seen + unseen)
    split = split[~split["image_id"].isin(set(unreadable))]
    train, test = split[split[setting] == "train"], split[split[setting] == "test"]
    targets = unseen if setting == "zsl" else seen + unseen
    y_train = _labels(train, seen, "training", "seen")
    labelled = test["class_name"].notna().to_numpy()
    y_test = np.full(len(test), -1)
    y_test[labelled] = _labels(test[labelled], targets, "test", "target")
    _check_split(split, train, seen)
    if test.empty and setting == "gzsl":
        raise DataError("the generalized setting is evaluated on test images, but the split has none: add some")
    listed = {part: listed_alternatives(normalise[part]) for part in PARTS}
    ways = listed if any(len(alternatives) > 1 for alternatives in listed.values()) else {}
    if ways and store is not None:
        raise DataError(
            "normalise has alternatives, which are compared in memory, but the problem is kept in files because it may "
            "be larger: give one list of steps for features and one for semantics"
        )
    steps = NOTHING if ways else {part: alternatives[0] for part, alternatives in listed.items()}
    feature_normaliser, X_train, X_test = _features(features, train, test, steps["features"], store, setting)
    semantic_normaliser, S_seen = fit_normaliser(steps["semantics"], S[: len(seen)])
    return Problem(
        setting,
        X_train,
        y_train,
        S_seen,
        seen,
        X_test,
        y_test,
        semantic_normaliser(S[len(seen) :]),
        unseen,
        test["image_id"].tolist(),
        feature_normaliser,
        semantic_normaliser,
        ways,
        given=given_beside(steps["semantics"], S),
    )


def _features(
    vectors: NamedVectors,
    train: pd.DataFrame,
    test: pd.DataFrame,
    steps: Sequence[str],
    store: MappedArrays | None,
    setting: str,
) -> tuple[Normaliser, Array, Array]:
    """The normaliser, and the features of training and test images that have been through it."""
    remedy = "extract its features, or set feature_extraction.on_error to skip"
    wanted = {name: part["image_id"].tolist() for name, part in (("train", train), ("test", test))}
    rows = {name: vectors.rows(ids, "images", "features", remedy) for name, ids in wanted.items()}

    def blocks(name: str, what: str) -> Iterator[Array]:
        starts = range(0, len(rows[name]), BLOCK)
        for i in progress_bar(starts, desc=what, disable=len(starts) < MANY_BLOCKS):
            part = slice(i, i + BLOCK)
            yield _finite(vectors.take(rows[name][part]), wanted[name][part], "images", "features")

    if store is None:
        X_train, X_test = (_matrix(vectors, wanted[name], "images", "features", remedy) for name in ("train", "test"))
        normaliser, X_train = fit_normaliser(steps, X_train)
        return normaliser, X_train, normaliser(X_test)
    normaliser = fit_normaliser_in_blocks(steps, lambda: blocks("train", "means and scales"))
    width = vectors.take(rows["train"][:1]).shape[1]
    X_train, X_test = (
        store.write(f"{setting}_{name}", (len(rows[name]), width), map(normaliser, blocks(name, f"normalised {name}")))
        for name in ("train", "test")
    )
    return normaliser, X_train, X_test


def _class_names(classes: pd.DataFrame, least_seen: int) -> tuple[list[str], list[str]]:
    repeated = classes["class_name"][classes["class_name"].duplicated()]
    if len(repeated):
        overlap = sorted(set(classes.loc[classes["role"] == "seen", "class_name"]) & set(repeated))
        overlap = [name for name in overlap if "unseen" in set(classes.loc[classes["class_name"] == name, "role"])]
        if overlap:
            raise DataError(
                f"{counted(len(overlap), 'classes are', 'class is')} both seen and unseen, "
                f"for example {overlap[0]!r}: give each one role"
            )
        raise DataError(f"class {repeated.iloc[0]!r} is listed more than once: keep one row per class")
    seen, unseen = (classes.loc[classes["role"] == role, "class_name"].tolist() for role in ("seen", "unseen"))
    if len(seen) < least_seen or len(unseen) < 1:
        needed = {0: "", 1: "one seen class and "}.get(least_seen, "two seen classes and ")
        raise DataError(
            f"a problem needs at least {needed}one unseen class, got {len(seen)} and {len(unseen)}: check the role "
            "column of the classes table. Without own seen classes: --pipeline=photos_own"
        )
    return seen, unseen


def _warn_of_alike(S: Array, names: list[str]) -> None:
    """Say which classes have one description: whatever an image shows, both suit it equally well."""
    _, first, group = np.unique(S, axis=0, return_index=True, return_inverse=True)
    alike = np.flatnonzero(first[group.ravel()] != np.arange(len(S)))
    if len(alike):
        one, other = names[first[group.ravel()[alike[0]]]], names[alike[0]]
        log.warning(
            "%d of %d classes have the same semantic vector as another, for example %r and %r: they cannot be told "
            "apart; describe them differently",
            *(len(alike), len(names), one, other),
        )


def _check_split(split: pd.DataFrame, train: pd.DataFrame, seen: list[str]) -> None:
    repeated = split["image_id"][split["image_id"].duplicated()]
    if len(repeated):
        raise DataError(
            f"{len(repeated)} image ids occur more than once, for example {repeated.iloc[0]!r}: "
            "an image has one row in the split; rename or drop the others"
        )
    if seen and train.empty:
        raise DataError("the split has no training images: add images of the seen classes")
    without = sorted(set(seen) - set(train["class_name"]))
    if without:
        raise DataError(
            f"{len(without)} seen classes have no training image, for example {without[0]!r}: "
            "add images, or drop the classes"
        )


def _labels(rows: pd.DataFrame, names: list[str], part: str, kind: str) -> Labels:
    labels = pd.Index(names).get_indexer(pd.Index(rows["class_name"]))
    if (labels < 0).any():
        stranger = rows["class_name"].iloc[int((labels < 0).argmax())]
        raise DataError(
            f"{int((labels < 0).sum())} {part} images belong to none of the {len(names)} {kind} classes "
            f"({names[0]!r} .. {names[-1]!r}), for example one of {stranger!r}: "
            "add the class to the classes table with that role, or leave its images out of the split"
        )
    return labels.astype(np.int64)


def _matrix(vectors: NamedVectors, wanted: list[str], kind: str, what: str, remedy: str) -> Array:
    return _finite(vectors.get(wanted, kind, what, remedy), wanted, kind, what)


def _finite(vectors: Array, wanted: list[str], kind: str, what: str) -> Array:
    if vectors.ndim != 2 or (len(vectors) and not vectors.shape[1]):
        raise DataError(
            f"{what} must be one vector of at least one number for each of the {kind}, got an array of shape "
            f"{vectors.shape} for {len(wanted)} {kind}: compute them again"
        )
    matrix = vectors.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise DataError(
            f"{len(bad)} {kind} have NaN or infinite {what}, for example {wanted[bad[0]]!r}: compute them again"
        )
    return matrix
