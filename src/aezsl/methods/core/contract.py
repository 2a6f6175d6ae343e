"""The contract every method keeps. Rows are samples and classes: X is (n, d), S is (C, a)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics
from aezsl.errors import DataError
from aezsl.evaluation.ranking import Ranking
from aezsl.methods.core.checks import check_given, check_rows, check_scores, check_semantics, solvable, warn_of_ties
from aezsl.methods.core.classifiers import LinearClassifier, ScoringClassifier, TargetClassifier
from aezsl.methods.core.parameters import Declared
from aezsl.methods.core.seen import SeenData, Targets

#: What a method learns from: sums over the samples; these, and the samples once more, block by block; all samples at
#: once; or passes over them.
Needs = Literal["statistics", "blocks", "samples", "epochs"]


class ZeroShotClassifier(Declared):
    """Base of all methods: ``fit`` on seen classes, ``adapt`` to the targets, then score samples.

    ``fit`` learns from seen data; afterwards the estimator never changes. ``adapt`` solves for the target classes, and
    where the method is transductive on the unlabelled pool, and returns a classifier of its own. So one estimator
    serves any number of threads and targets.

    A subclass declares its parameters (see ``Declared``), implements ``_fit(seen)`` and one way to adapt, and keeps
    every fitted value in an attribute that ends in ``_`` and holds an array, a number or a string: that is what a saved
    model consists of, so that loading one never runs foreign code. Ways to adapt, the simplest that serves:

    * linear scores: derive from ``LinearZeroShotClassifier`` and define ``_classifiers(S_target)``;
    * other scores of single samples: define ``_target_parts(S_target)``, the arrays that depend on the targets, and
      ``_scores(X, **parts)``;
    * a pool, or work that a grid can share: define ``_adapt(targets)`` and return a ``TargetClassifier``.

    Work that depends on no searched parameter goes through ``seen.once`` and ``targets.once``: a grid pays for it once.
    """

    #: What cross-validation searches: parameter -> values.
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: Searched parameters whose larger (1) or smaller (-1) values change less, where of equally good points the most
    #: cautious one is wanted. Without any, of points that tie the most central one is taken (``selection.ties``).
    cautious_by: ClassVar[Mapping[str, int]] = {}
    #: Where the method was published.
    citation: ClassVar[str] = ""
    #: What ``fit`` needs of the seen data.
    needs: ClassVar[Needs] = "samples"
    #: Whether ``adapt`` learns from an unlabelled pool.
    transductive: ClassVar[bool] = False
    #: Whether parameters must serve pools of every kind: validation pools are then drawn in all of these ways.
    serves_all_pools: ClassVar[bool] = False
    #: Whether its work has threads of its own: the folds of a selection then come one after the other in a process.
    own_threads: ClassVar[bool] = False
    #: What ``adapt`` returns.
    classifier_class: ClassVar[type[TargetClassifier]] = ScoringClassifier

    n_features_in_: int
    n_semantics_in_: int
    moved_semantics_: bool  # whether similarity of classes is measured by other semantics than S

    def fit(
        self,
        X: ArrayLike | SeenStatistics,
        y: ArrayLike | None = None,
        S: ArrayLike | None = None,
        given: ArrayLike | None = None,
    ) -> Self:
        """Learn from seen classes: X (n, d) features, y (n,) row numbers of S, S (Cs, a) semantics.

        A method that needs no more takes statistics instead of samples: ``fit(statistics, S=S)``.
        given : where S has been centred or otherwise moved, the same classes as they were described, (Cs, b). Where a
            cosine means that classes are similar, it is theirs; ``adapt`` needs the targets' then.
        """
        if isinstance(X, SeenStatistics) and S is None:
            y, S = None, y
        if S is None:
            raise DataError("fit needs the semantics S of the seen classes: fit(X, y, S), or fit(statistics, S=S)")
        return self.fit_seen(SeenData(X, y, S, given=given))

    def fit_seen(self, seen: SeenData) -> Self:
        """Learn from checked data, sharing what other fits on the same object have computed."""
        enough = self.needs == "statistics" or (self.needs == "blocks" and seen.rows is not None)
        if seen.from_statistics and not enough:
            raise DataError(f"{type(self).__name__} learns from {self.needs}, not from statistics: give X, y and S")
        self.check_parameters()
        self.n_features_in_, self.n_semantics_in_, self.moved_semantics_ = seen.n_features, seen.S.shape[1], seen.moved
        with solvable(self, "learnt from these data"):
            self._fit(seen)
        return self

    def fit_path(self, X: ArrayLike, y: ArrayLike, S: ArrayLike, points: Iterable[Mapping[str, Any]]) -> Iterator[Self]:
        """One fitted copy per parameter setting, one after the other, all from the same preparation."""
        return self.fit_points(SeenData(X, y, S), points)

    def fit_points(self, seen: SeenData, points: Iterable[Mapping[str, Any]]) -> Iterator[Self]:
        """As ``fit_path`` for checked data."""
        return (clone(self).set_params(**point).fit_seen(seen) for point in points)

    def adapt(
        self, S_target: ArrayLike, X_pool: ArrayLike | None = None, given: ArrayLike | None = None
    ) -> TargetClassifier:
        """A classifier of the classes S_target (C, a), seen or not; a transductive method learns from X_pool (m, d).

        given : the classes as they were described, (C, b); it counts where ``fit`` had that of the seen ones.
        """
        check_is_fitted(self, "n_features_in_")
        S_target = check_semantics("S_target", S_target, self.n_semantics_in_).copy()  # the caller's may change later
        moved = getattr(self, "moved_semantics_", False)  # a state that was put together by hand has none
        if given is None and moved:
            raise DataError(
                f"{type(self).__name__} was fitted with semantics as they were given beside S, and needs those of the "
                "targets, too: adapt(S_target, given=...)"
            )
        used = given if moved else None
        own = None if used is None else check_given("given", used, len(S_target))
        pool = None
        if X_pool is not None and self.transductive:
            pool = check_rows("X_pool", X_pool, self.n_features_in_, "features")
        return self.adapt_to(Targets(S_target, pool, unmoved=own))

    def adapt_to(self, targets: Targets) -> TargetClassifier:
        """As ``adapt`` for checked targets, sharing what other models have computed about them."""
        with solvable(self, "adapted to these classes"):
            classifier = self._adapt(targets)
        if classifier.classifiers is not None:
            check_scores(classifier.classifiers, self)
            if getattr(classifier, "offset", None) is None:
                warn_of_ties(classifier.classifiers, self)
        return classifier

    def decision_function(self, X: ArrayLike, S_target: ArrayLike) -> Array:
        """Scores (m, C): adapt and score. A transductive method takes X as its pool."""
        return self._adapt_for(X, S_target).scores(X)

    def predict(self, X: ArrayLike, S_target: ArrayLike) -> Labels:
        """The row of S_target that suits every row of X best: adapt and predict."""
        return self._adapt_for(X, S_target).predict(X)

    def rank(self, X: ArrayLike, S_target: ArrayLike, k: int) -> Ranking:
        """The k best classes per row of X, best first: adapt and rank."""
        return self._adapt_for(X, S_target).rank(X, k)

    def rank_sides(self, X: ArrayLike, S_target: ArrayLike, n_first: int, k: int) -> tuple[Ranking, Ranking]:
        """The k best among the first ``n_first`` classes, and among the others: adapt and rank both sides."""
        return self._adapt_for(X, S_target).rank_sides(X, n_first, k)

    def get_state(self) -> dict[str, Any]:
        """All fitted values by name: arrays, numbers and strings."""
        check_is_fitted(self, "n_features_in_")
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name[0] != "_"}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave; no other name is set."""
        for name, value in state.items():
            if not name.isidentifier() or not name.endswith("_") or name.startswith("_") or hasattr(type(self), name):
                raise DataError(f"{type(self).__name__} has no fitted value {name!r}: give what get_state gave")
            setattr(self, name, value)
        return self

    def restore(self, state: Mapping[str, Any]) -> TargetClassifier:
        """The classifier of this fitted model whose ``state()`` this is."""
        check_is_fitted(self, "n_features_in_")
        return self.classifier_class.from_state(self, state)

    def restore_ranker(self, state: Mapping[str, Any]) -> TargetClassifier:
        """The classifier that orders the classes behind a pool's labels: of this model, unless it has a base."""
        return LinearClassifier.from_state(self, state)

    def _adapt_for(self, X: ArrayLike, S_target: ArrayLike) -> TargetClassifier:
        check_is_fitted(self, "n_features_in_")
        X = check_rows("X", X, self.n_features_in_, "features")
        return self.adapt(S_target, X if self.transductive else None)

    def _fit(self, seen: SeenData) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit")

    def _adapt(self, targets: Targets) -> TargetClassifier:
        return ScoringClassifier(self, targets.S, self._target_parts(targets.S))

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        """What the scores depend on beside the samples and the fitted values: arrays by name."""
        raise TypeError(f"{type(self).__name__} must define _target_parts and _scores, or _adapt")

    def _scores(self, X: Array, **parts: Array) -> Array:
        """Scores (m, C) of checked samples."""
        raise TypeError(f"{type(self).__name__} must define _target_parts and _scores, or _adapt")


class LinearZeroShotClassifier(ZeroShotClassifier):
    """A method whose score is linear in X: one classifier, a d-vector, per target class."""

    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    def classifiers(self, S_target: ArrayLike) -> Array:
        """Stacked visual classifiers P (d, C), so that the scores are ``X @ P``: adapt, and take them."""
        P = self.adapt(S_target).classifiers
        assert P is not None  # a linear method has them
        return P

    def _adapt(self, targets: Targets) -> TargetClassifier:
        return LinearClassifier(self, targets.S, np.asarray(self._classifiers(targets.S)))

    def _classifiers(self, S_target: Array) -> Array:
        """Stacked classifiers (d, C) for checked targets."""
        raise TypeError(f"{type(self).__name__} must define _classifiers")
