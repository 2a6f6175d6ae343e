"""What balanced propagation leaves behind: labels and scores of the pool, and a scorer of other samples."""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from aezsl.arrays import Array, Float32
from aezsl.methods.core.classifiers import BLOCK_ENTRIES, PoolClassifier

if TYPE_CHECKING:
    from aezsl.methods.core.contract import ZeroShotClassifier


class PropagatedClassifier(PoolClassifier):
    """A pool whose samples may have scores of their own, found together with their neighbours'.

    pool_scores : (m, C) the logarithms of the final soft labels, in single precision; None where the pool goes by the
        scorer, as samples from outside do, which knows no neighbours.
    """

    pool_scores: Float32 | None = None

    def with_scores(self, pool_scores: Float32) -> Self:
        """The same classifier, but that its pool has these scores."""
        classifier = copy(self)
        classifier.pool_scores = pool_scores
        return classifier

    def state(self) -> dict[str, Any]:
        """As any pool's, with the scores of the pool."""
        return super().state() | ({} if self.pool_scores is None else {"pool_scores": self.pool_scores})

    @classmethod
    def from_state(cls, model: "ZeroShotClassifier", state: Mapping[str, Any]) -> Self:
        """The classifier that ``state`` was taken of."""
        classifier = super().from_state(model, state)
        return classifier.with_scores(state["pool_scores"]) if "pool_scores" in state else classifier

    def _scores(self, X: Array) -> Array:
        known = self._own_scores(X)
        return super()._scores(X) if known is None else known

    def _score_blocks(self, X: Array) -> Iterator[Array]:
        known = self._own_scores(X)
        if known is None:
            return super()._score_blocks(X)
        step = max(1, BLOCK_ENTRIES // known.shape[1])
        return (known[i : i + step] for i in range(0, len(known), step))

    def _own_scores(self, X: Array) -> Float32 | None:
        return self.pool_scores if self.pool_scores is not None and self._is_pool(X) else None
