"""What methods share that learn the labels of an unlabelled pool in rounds, without a base to refine."""

import warnings
from typing import ClassVar

import numpy as np

from aezsl.arrays import Array
from aezsl.methods.core.classifiers import PoolClassifier, TargetClassifier
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import Targets


class TransductiveMethod(ZeroShotClassifier):
    """A method that defines ``_learn(S_target, pool, targets)``: a scorer, and the pool's labels round by round.

    Without a pool the method learns from an empty one: no round, and the scores of its start.
    """

    needs: ClassVar[Needs] = "statistics"
    transductive: ClassVar[bool] = True
    classifier_class: ClassVar[type[TargetClassifier]] = PoolClassifier
    #: What a user can do when labels collapse onto few classes.
    against_collapse: ClassVar[str] = ""

    def _adapt(self, targets: Targets) -> PoolClassifier:
        given = np.empty((0, self.n_features_in_)) if targets.pool is None else targets.pool
        S_target, pool = (np.asarray(rows, dtype=np.float64) for rows in (targets.S, given))
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
