"""The contract every method keeps. Rows are samples and classes: X is (n, d), S is (C, a)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from aezsl.arrays import Array, Labels
from aezsl.evaluation.ranking import Ranking, top_k, top_k_products

#: Score matrices are formed in blocks of at most this many entries (64 MB of float64).
BLOCK_ENTRIES = 8_000_000


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
    empty = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0)
    if len(empty):
        raise ValueError(f"{len(empty)} rows of S have no sample in y (the first is row {empty[0]}): drop them from S")
    return labels


class ZeroShotClassifier(BaseEstimator):
    """Base of all methods: ``fit`` on seen classes, then score any classes by their semantics.

    A subclass stores its parameters in ``__init__``, implements ``_fit`` and ``_decide``, and keeps every
    fitted value in an attribute that ends in ``_`` and holds an array, a number or a string: that is what a
    saved model consists of, so that loading one never runs foreign code. Work that depends on no searched
    parameter goes into ``_prepare``, whose result ``_fit`` receives: a grid then pays for it once.
    """

    #: What cross-validation searches: parameter -> values.
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: Searched parameters whose larger (1) or smaller (-1) values change less, where of equally good points the least
    #: daring one is wanted.
    cautious_by: ClassVar[Mapping[str, int]] = {}
    #: Where the method was published.
    citation: ClassVar[str] = ""
    #: True where ``predict`` learns from the X it is given, as one unlabelled pool.
    transductive: ClassVar[bool] = False

    n_features_in_: int
    n_semantics_in_: int

    def fit(self, X: ArrayLike, y: ArrayLike, S: ArrayLike) -> Self:
        """Learn from seen classes: X (n, d) features, y (n,) row numbers of S, S (Cs, a) semantics."""
        return next(self._fit_copies([self], X, y, S))

    def fit_path(self, X: ArrayLike, y: ArrayLike, S: ArrayLike, points: Iterable[Mapping[str, Any]]) -> Iterator[Self]:
        """One fitted copy per parameter setting, one after the other, all from one ``_prepare``."""
        return self._fit_copies((clone(self).set_params(**point) for point in points), X, y, S)

    def _fit_copies(self, copies: Iterable[Self], X: ArrayLike, y: ArrayLike, S: ArrayLike) -> Iterator[Self]:
        X = check_rows("X", X, what="features")
        S = check_semantics("S", S)
        if len(S) < 2:
            raise ValueError(f"S must describe at least two seen classes, got {len(S)}")
        y = check_labels(y, len(X), len(S))
        prepared = self._prepare(X, y, S)
        for model in copies:
            model.n_features_in_, model.n_semantics_in_ = X.shape[1], S.shape[1]
            model._fit(*prepared)
            yield model

    def decision_function(self, X: ArrayLike, S_target: ArrayLike) -> Array:
        """Scores (m, C) of every row of X for every class of S_target (C, a), seen or not; higher is better."""
        X, S_target = self._check_query(X, S_target)
        return self._decide(X, S_target)

    def predict(self, X: ArrayLike, S_target: ArrayLike) -> Labels:
        """The row of S_target with the highest score, for every row of X; the first one on ties."""
        return self.rank(X, S_target, 1).classes[:, 0]

    def rank(self, X: ArrayLike, S_target: ArrayLike, k: int) -> Ranking:
        """The k best classes per row of X, best first, without ever holding all scores at once."""
        return Ranking.concatenate([top_k(scores, k) for scores in self._score_blocks(X, S_target)])

    def rank_sides(self, X: ArrayLike, S_target: ArrayLike, n_first: int, k: int) -> tuple[Ranking, Ranking]:
        """The k best among the first ``n_first`` target classes, and the k best among the others.

        Both come from scores for all classes together, as the generalized setting needs them: where classes
        depend on one another, ranking among a part of them is another problem. Each side numbers its own classes.
        """
        sides = [
            (top_k(scores[:, :n_first], k), top_k(scores[:, n_first:], k)) for scores in self._score_blocks(X, S_target)
        ]
        first, others = zip(*sides, strict=True)
        return Ranking.concatenate(first), Ranking.concatenate(others)

    def get_state(self) -> dict[str, Any]:
        """All fitted values by name: arrays, numbers and strings."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name[0] != "_"}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        for name, value in state.items():
            setattr(self, name, value)
        return self

    def _score_blocks(self, X: ArrayLike, S_target: ArrayLike) -> Iterator[Array]:
        """Scores of consecutive rows of X, as many at a time as a block may hold."""
        X, S_target = self._check_query(X, S_target)
        step = len(X) if self.transductive else max(1, BLOCK_ENTRIES // len(S_target))
        return (self._decide(X[i : i + step], S_target) for i in range(0, len(X), step))

    def _check_query(self, X: ArrayLike, S_target: ArrayLike) -> tuple[Array, Array]:
        check_is_fitted(self, "n_features_in_")
        return (
            check_rows("X", X, self.n_features_in_, "features"),
            check_semantics("S_target", S_target, self.n_semantics_in_),
        )

    def _prepare(self, X: Array, y: Labels, S: Array) -> tuple[Any, ...]:
        """What ``_fit`` receives: the data as they are, unless a subclass can work ahead."""
        return X, y, S

    # Set by the subclass: learn from what _prepare returned, _fit(*prepared).
    _fit: Callable[..., None]

    def _decide(self, X: Array, S_target: Array) -> Array:
        """Scores (m, C) for checked input."""
        raise TypeError(f"{type(self).__name__} must define _decide")


class LinearZeroShotClassifier(ZeroShotClassifier):
    """A method whose score is linear in X: one classifier, a d-vector, per target class."""

    def classifiers(self, S_target: ArrayLike) -> Array:
        """Stacked visual classifiers P (d, C), so that the scores are ``X @ P``."""
        check_is_fitted(self, "n_features_in_")
        return self._classifiers(check_semantics("S_target", S_target, self.n_semantics_in_))

    def rank(self, X: ArrayLike, S_target: ArrayLike, k: int) -> Ranking:
        """As the base class, building the classifiers once; then memory grows with neither samples nor classes."""
        X, S_target = self._check_query(X, S_target)
        return top_k_products(X, self._classifiers(S_target), k)

    def _score_blocks(self, X: ArrayLike, S_target: ArrayLike) -> Iterator[Array]:
        X, S_target = self._check_query(X, S_target)
        P = self._classifiers(S_target)  # once for all blocks
        step = max(1, BLOCK_ENTRIES // P.shape[1])
        return (X[i : i + step] @ P for i in range(0, len(X), step))

    def _decide(self, X: Array, S_target: Array) -> Array:
        return X @ self._classifiers(S_target)

    def _classifiers(self, S_target: Array) -> Array:
        """Stacked classifiers (d, C) for checked input."""
        raise TypeError(f"{type(self).__name__} must define _classifiers")
