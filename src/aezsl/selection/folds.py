"""Which seen classes play unseen."""

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.draws import check_fraction
from aezsl.data.mapped_arrays import Rows
from aezsl.data.problem import BLOCK, Problem
from aezsl.errors import DataError, ParameterError
from aezsl.methods import TargetClassifier
from aezsl.selection.settings import SelectionSettings

#: Seen classes that validation needs at least: two to play unseen, two to learn from.
LEAST_SEEN = 4

#: Folds at most beside the one that parameters are chosen on.
FRESH = 2


def class_folds(
    n_seen: int,
    n_unseen: int,
    rule: str = "random",
    n_folds: int = 3,
    seed: int = 0,
    fraction: float | None = None,
) -> list[Labels]:
    """Validation classes of each fold, as row numbers of the seen semantics.

    The number of validation classes Cv keeps ``Cv / Cs = Ct / (Cs + Ct)``, as in the paper, unless ``fraction`` says
    Cv / Cs: with many more unseen than seen classes the paper's rule would leave hardly any to learn from.

    rule: ``first`` takes the first Cv classes in the data's own order, one fold, as the paper does (poor where
    the order follows topics); ``random`` draws ``n_folds`` seeded sets, disjoint for as long as classes last.
    """
    if n_folds < 1:
        raise ParameterError(f"n_folds must be at least 1, got {n_folds}: without a fold nothing is validated")
    if fraction is not None:
        check_fraction(fraction)
    share = n_unseen / (n_seen + n_unseen) if fraction is None else fraction
    size = min(max(2, round(n_seen * share)), n_seen - 2)
    require_classes(n_seen)
    if rule == "first":
        return [np.arange(size)]
    if rule != "random":
        raise ParameterError(f"unknown validation rule {rule!r}; expected 'first' or 'random'")
    rng = np.random.default_rng(seed)
    order: Labels = np.empty(0, dtype=np.int64)
    folds = []
    for _ in range(n_folds):
        if len(order) < size:
            order = rng.permutation(n_seen)
        folds.append(np.sort(order[:size]))
        order = order[size:]
    return folds


def require_classes(n_seen: int) -> None:
    """Refuse fewer classes with images than choosing parameters takes."""
    if n_seen < LEAST_SEEN:
        raise DataError(
            f"give photos of at least {LEAST_SEEN} classes, there are {n_seen}: two of them play new classes while the "
            "others are learnt from, which shows how to learn. The photo model needs no photos of yours (aezsl "
            "classify), and with it any number of classes will do (kedro run --pipeline=photos_own)"
        )


def problem_folds(problem: Problem, settings: SelectionSettings) -> list[Labels]:
    """Validation classes of each fold of a problem, by the settings of a selection."""
    own = settings.model_dump(exclude={"criterion", "search"})
    return class_folds(len(problem.S_seen), len(problem.S_unseen), **own)


def fresh_folds(problem: Problem, settings: SelectionSettings) -> list[Labels]:
    """Folds to measure on what was chosen: those of the selection, or where there is one alone up to ``FRESH`` others.

    Of several folds each can be named with what was chosen on the others (see ``optimism``).
    """
    folds = problem_folds(problem, settings)
    if len(folds) > 1:
        return folds
    rest = np.setdiff1d(np.arange(len(problem.S_seen)), folds[0])
    order, size = np.random.default_rng(settings.seed).permutation(rest), len(folds[0])
    others = [np.sort(order[i : i + size]) for i in range(0, len(order) - size + 1, size)]
    return others[:FRESH] or folds


def class_split(X: Array, y: Labels, S: Array, held_out: Labels) -> tuple[tuple[Array, Labels, Array], ...]:
    """The data as (training, validation), each X, y, S with labels numbered again from 0."""
    return tuple((np.asarray(rows), labels, S_part) for rows, labels, S_part in mapped_split(X, y, S, held_out))


def split_classes(given: Array | None, held_out: Labels) -> tuple[Array, Array] | None:
    """Vectors of classes as ``class_split`` orders them, (training, validation); None of none."""
    return None if given is None else (np.delete(given, held_out, axis=0), given[np.sort(held_out)])


def mapped_split(X: Array, y: Labels, S: Array, held_out: Labels) -> tuple[tuple[Rows, Labels, Array], ...]:
    """As ``class_split``, without a copy of any sample."""
    is_held_out = np.zeros(len(S), dtype=bool)
    is_held_out[held_out] = True
    parts = []
    for classes in (~is_held_out, is_held_out):
        rows = np.flatnonzero(classes[y])
        parts.append((Rows(X, rows), (np.cumsum(classes) - 1)[y[rows]], S[classes]))
    return tuple(parts)


def predict(classifier: TargetClassifier, X: Array | Rows) -> Labels:
    """The labels of samples, which may lie in a mapped file."""
    if isinstance(X, Rows):
        return np.concatenate([classifier.predict(block) for block in X.blocks(BLOCK)])
    return classifier.predict(X)
