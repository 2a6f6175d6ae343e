"""What methods share that learn the labels of an unlabelled pool in rounds, without a base to refine."""

import warnings
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.methods.core.classifiers import PoolClassifier, TargetClassifier
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import Targets
from aezsl.methods.shared.graph import cosine_graph

#: Of ``guard``: neighbours in its graph, fewest samples per target class, least agreement of neighbours above chance.
GUARD_NEIGHBORS, MIN_PER_CLASS, MIN_AGREEMENT = 10, 2.0, 0.05
#: By how much neighbours may agree less on what is learnt than on the answers without the pool. On pools of CUB's
#: validation classes all losses of TZSAR and SMS were beyond it, and no gain of those methods that were tried.
MOST_LOST = 0.02


class TransductiveMethod(ZeroShotClassifier):
    """A method that defines ``_learn(S_target, pool, targets)``: a scorer, and the pool's labels round by round.

    Without a pool the method learns from an empty one: no round, and the scores of its start.

    Parameters
    ----------
    guard : bool
        Labels stay as without a pool where the pool does not suit (``guarded``); not in the papers.

    """

    guard: bool = False

    needs: ClassVar[Needs] = "statistics"
    transductive: ClassVar[bool] = True
    classifier_class: ClassVar[type[TargetClassifier]] = PoolClassifier
    #: What a user can do when labels collapse onto few classes.
    against_collapse: ClassVar[str] = ""

    def _adapt(self, targets: Targets) -> PoolClassifier:
        given = np.empty((0, self.n_features_in_)) if targets.pool is None else targets.pool
        S_target, pool = (np.asarray(rows, dtype=np.float64) for rows in (targets.S, given))
        if not (self.guard and len(pool)):
            return self._learned(S_target, pool, targets, given)
        alone, _ = self._learn(S_target, pool[:0], Targets(targets.S, progress=False))
        return guarded(self, alone, targets, lambda: self._learned(S_target, pool, targets, given))

    def _learned(self, S_target: Array, pool: Array, targets: Targets, given: Array) -> PoolClassifier:
        scorer, history = self._learn(S_target, pool, targets)
        self._warn_of_collapse(history, len(S_target))
        return PoolClassifier(self, scorer, history, given)

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[TargetClassifier, LabelHistory]:
        """The adapted scorer and the history of labels; ``targets`` shares what several models compute about them."""
        raise TypeError(f"{type(self).__name__} must define _learn")

    def _warn_of_collapse(self, history: LabelHistory, n_classes: int) -> None:
        """Hub classes that attract samples of others, learn from them and attract more, are the common failure."""
        before, after = (len(np.unique(labels)) for labels in (history.start, history.labels))
        if after < min(n_classes, len(history.labels)) / 2 <= before:
            warnings.warn(
                f"{type(self).__name__}: labels collapsed, {after} of {n_classes} target classes are in use at the "
                f"end and {before} were at the start; {self.against_collapse}",
                stacklevel=2,
            )


def guarded(
    model: ZeroShotClassifier, alone: TargetClassifier, targets: Targets, learn: Callable[[], PoolClassifier]
) -> PoolClassifier:
    """What a method learns from the pool, or what it answers without, and a note why, where the pool does not suit.

    It suits by ``reason_to_refrain`` with the limits above, and where neighbours agree on what is learnt as on the
    answers without it, or more (``MOST_LOST``). The graph is that of the cosines between features.
    """
    pool = targets.pool
    assert pool is not None  # a guard is asked about one
    labels = alone.predict(pool)
    graph = targets.once(None, "guard", lambda: cosine_graph(unit_rows(pool), GUARD_NEIGHBORS))
    reason = reason_to_refrain(labels, graph, len(targets.S))
    if reason is None:
        found = learn()
        before, after = agreement(labels, graph), agreement(found.labels, graph)
        if after >= before - MOST_LOST:
            return found
        reason = f"neighbours agree on {after:.1%} of the labels learnt from it, and on {before:.1%} of the others"
    history = LabelHistory(labels)
    history.note = f"labels stay as they are without the pool: {reason}"
    return PoolClassifier(model, alone, history, pool)


def reason_to_refrain(labels: Labels, graph: csr_array, n_classes: float) -> str | None:
    """Why a pool should be left alone that a start gives these labels, or None: no true label is needed to tell.

    It has few images per class, or neighbours agree on the labels hardly more often than the same labels would after a
    shuffle, by less than ``MIN_AGREEMENT`` of what is left above chance.
    """
    m, counts = len(labels), np.bincount(labels)
    if m < MIN_PER_CLASS * n_classes:
        return f"{m} samples of {n_classes:.3g} classes are fewer than {MIN_PER_CLASS:g} per class"
    observed, chance = agreement(labels, graph), float(counts @ (counts - 1)) / max(m * (m - 1), 1)
    if observed - chance < MIN_AGREEMENT * (1 - chance):
        return f"neighbours agree on {observed:.1%} of the start's labels, shuffled labels on {chance:.1%}"
    return None


def agreement(labels: Labels, graph: csr_array) -> float:
    """The weighted share of edges whose ends have one label."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    total = graph.data.sum()
    return float(graph.data[labels[rows] == labels[graph.indices]].sum() / total) if total > 0 else 0.0
