"""A method that has met its target classes: scores, labels and ranks of samples. Queries change nothing."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from aezsl.arrays import Array, Labels, Mask, digest
from aezsl.evaluation.ranking import Ranking, top_k, top_k_products
from aezsl.methods.core.checks import check_rows, check_scores, warn_of_ties
from aezsl.methods.core.history import LabelHistory

if TYPE_CHECKING:
    from aezsl.methods.core.contract import ZeroShotClassifier

#: Score matrices, and the rows they are of, are formed in blocks of at most this many entries (8 MB of float64).
BLOCK_ENTRIES = 1_000_000


class TargetClassifier:
    """What ``adapt`` returns. A subclass says how checked samples are scored, and what its saved state is."""

    #: (d, C) so that the scores are ``X @ classifiers``, where they are linear in X.
    classifiers: Array | None = None

    def __init__(self, model: "ZeroShotClassifier", S_target: Array) -> None:
        self.model, self.S_target = model, S_target

    @property
    def history(self) -> pd.DataFrame | None:
        """One row per round, where the method went in rounds."""
        return None

    def scores(self, X: ArrayLike) -> Array:
        """Scores (m, C) of every row of X for every target class; higher is better."""
        return self._scores(self._check(X))

    def predict(self, X: ArrayLike) -> Labels:
        """The target class with the highest score, for every row of X; the first one on ties."""
        return self.rank(X, 1).classes[:, 0]

    def rank(self, X: ArrayLike, k: int) -> Ranking:
        """The k best classes per row of X, best first, without ever holding all scores at once."""
        return Ranking.concatenate([top_k(scores, k) for scores in self._score_blocks(self._check(X))])

    def rank_sides(self, X: ArrayLike, n_first: int, k: int) -> tuple[Ranking, Ranking]:
        """The k best among the first ``n_first`` target classes, and the k best among the others.

        Both come from scores for all classes together, as the generalized setting needs them: where classes
        depend on one another, ranking among a part of them is another problem. Each side numbers its own classes.
        """
        first = np.arange(len(self.S_target)) < n_first
        return self.rank_parts(X, first, k)

    def rank_parts(self, X: ArrayLike, first: Mask, k: int) -> tuple[Ranking, Ranking]:
        """As ``rank_sides``, where ``first`` (C,) says which target classes are on the first side."""
        sides = [(top_k(s[:, first], k), top_k(s[:, ~first], k)) for s in self._score_blocks(self._check(X))]
        ones, others = zip(*sides, strict=True)
        return Ranking.concatenate(ones), Ranking.concatenate(others)

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which ``model.restore`` makes this classifier again."""
        return {"S_target": self.S_target}

    @classmethod
    def from_state(cls, model: "ZeroShotClassifier", state: Mapping[str, Any]) -> Self:
        """The classifier of a fitted model that ``state`` was taken of."""
        raise TypeError(f"{cls.__name__} must define from_state")

    def _scores(self, X: Array) -> Array:
        raise TypeError(f"{type(self).__name__} must define _scores")

    def _score_blocks(self, X: Array) -> Iterator[Array]:
        """Scores of consecutive rows of X, as many at a time as a block may hold."""
        step = max(1, BLOCK_ENTRIES // max(len(self.S_target), X.shape[1]))  # rows may be copied, too
        return (self._scores(X[i : i + step]) for i in range(0, len(X), step))

    def _check(self, X: ArrayLike) -> Array:
        return check_rows("X", X, self.model.n_features_in_, "features")


class LinearClassifier(TargetClassifier):
    """One d-vector per target class: scores are ``X @ P``, plus an offset per class where there is one."""

    classifiers: Array

    def __init__(
        self, model: "ZeroShotClassifier", S_target: Array, classifiers: Array, offset: Array | None = None
    ) -> None:
        super().__init__(model, S_target)
        self.classifiers, self.offset = classifiers, offset

    def rank(self, X: ArrayLike, k: int) -> Ranking:
        """As the base class; without an offset memory grows with neither samples nor classes."""
        return super().rank(X, k) if self.offset is not None else top_k_products(self._check(X), self.classifiers, k)

    def state(self) -> dict[str, Any]:
        """Targets, classifiers and offset."""
        offset = {} if self.offset is None else {"offset": self.offset}
        return {**super().state(), "classifiers": self.classifiers, **offset}

    @classmethod
    def from_state(cls, model: "ZeroShotClassifier", state: Mapping[str, Any]) -> Self:
        """The classifier that ``state`` was taken of."""
        return cls(model, state["S_target"], state["classifiers"], state.get("offset"))

    def _scores(self, X: Array) -> Array:
        scores: Array = X @ self.classifiers
        return scores if self.offset is None else scores + self.offset


class ScoringClassifier(TargetClassifier):
    """Scores that are not linear in X: the model computes them from ``parts``, what it made of the targets."""

    def __init__(self, model: "ZeroShotClassifier", S_target: Array, parts: Mapping[str, Array]) -> None:
        super().__init__(model, S_target)
        self.parts = dict(parts)

    def state(self) -> dict[str, Any]:
        """Targets and what was made of them."""
        return {**super().state(), **self.parts}

    @classmethod
    def from_state(cls, model: "ZeroShotClassifier", state: Mapping[str, Any]) -> Self:
        """The classifier that ``state`` was taken of."""
        return cls(model, state["S_target"], {name: value for name, value in state.items() if name != "S_target"})

    def _scores(self, X: Array) -> Array:
        scores = check_scores(self.model._scores(X, **self.parts), self.model)
        warn_of_ties(scores, self.model)
        return scores


class PoolClassifier(TargetClassifier):
    """A transductive method after ``adapt``: the samples of its pool have labels, which it found together.

    scorer : scores any samples, those of the pool and new ones.
    history : the labels of the pool, round by round; the last ones are final.
    pool : the samples (m, d) themselves. Asked about them, ``rank`` and ``predict`` put the final labels first, which
        the scores need not repeat; new samples go by their scores. A restored classifier knows its pool by a digest.
    ranker : orders the classes behind the final label; the scorer unless given.
    """

    def __init__(
        self,
        model: "ZeroShotClassifier",
        scorer: TargetClassifier,
        history: LabelHistory,
        pool: Array | bytes,
        ranker: TargetClassifier | None = None,
    ) -> None:
        super().__init__(model, scorer.S_target)
        self.scorer, self.rounds, self._pool, self.ranker = scorer, history, pool, ranker or scorer
        self.classifiers = scorer.classifiers

    @property
    def labels(self) -> Labels:
        """The final label of every sample of the pool."""
        return self.rounds.labels

    @property
    def history(self) -> pd.DataFrame:
        """One row per round."""
        return self.rounds.table()

    def rank(self, X: ArrayLike, k: int) -> Ranking:
        """The pool has its final labels first, then the classes as the ranker orders them; new samples go by score."""
        X = self._check(X)
        return self.ranker.rank(X, k).with_first(self.labels) if self._is_pool(X) else self.scorer.rank(X, k)

    def state(self) -> dict[str, Any]:
        """States of scorer and ranker, the labels round by round, and the digest of the pool."""
        parts: dict[str, Any] = {f"scorer.{key}": value for key, value in self.scorer.state().items()}
        if self.ranker is not self.scorer:
            parts |= {f"ranker.{key}": value for key, value in self.ranker.state().items()}
        parts |= {f"history.{key}": value for key, value in self.rounds.state().items()}
        known_by = self._pool if isinstance(self._pool, bytes) else digest(self._pool)
        return parts | {"pool": np.frombuffer(known_by, dtype=np.uint8)}

    @classmethod
    def from_state(cls, model: "ZeroShotClassifier", state: Mapping[str, Any]) -> Self:
        """The classifier that ``state`` was taken of."""

        def part(name: str) -> dict[str, Any]:
            return {key.removeprefix(f"{name}."): state[key] for key in state if key.startswith(f"{name}.")}

        scorer = LinearClassifier if "scorer.classifiers" in state else ScoringClassifier
        ranker = model.restore_ranker(part("ranker")) if part("ranker") else None
        history = LabelHistory.from_state(part("history"))
        return cls(model, scorer.from_state(model, part("scorer")), history, state["pool"].tobytes(), ranker)

    def _scores(self, X: Array) -> Array:
        return self.scorer._scores(X)

    def _is_pool(self, X: Array) -> bool:
        if len(X) != len(self.labels):
            return False
        if isinstance(self._pool, bytes):
            return digest(X) == self._pool
        return X is self._pool or np.array_equal(X, self._pool)
