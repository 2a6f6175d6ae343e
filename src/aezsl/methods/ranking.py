"""What bilinear methods share that are trained by a ranking loss, sample by sample."""

from typing import Any

from aezsl.arrays import Array
from aezsl.methods.base import LinearZeroShotClassifier
from aezsl.methods.seen import SeenData
from aezsl.methods.shared.ranking_sgd import minimise_ranking_loss


class RankingMethod(LinearZeroShotClassifier):
    """One mapping between samples and class vectors. A subclass declares the parameters and says what the loss is."""

    learning_rate: float
    n_epochs: int
    batch_size: int
    random_state: int

    def loss_settings(self) -> dict[str, Any]:
        """Which wrong classes count, and by how much the true one must lead."""
        raise TypeError(f"{type(self).__name__} must define loss_settings")

    def class_vectors(self, S: Array) -> Array:
        """What stands for classes with semantics S (C, a) in the loss."""
        return S

    def descent_settings(self) -> dict[str, Any]:
        """The loss and the steps of its descent."""
        return {**self.loss_settings(), "learning_rate": self.learning_rate, "batch_size": self.batch_size}

    def _descend(self, seen: SeenData) -> Array:
        """The mapping (d, a) after all passes."""
        W: Array = minimise_ranking_loss(
            seen.X,
            seen.y,
            self.class_vectors(seen.S),
            n_epochs=self.n_epochs,
            random_state=self.random_state,
            **self.descent_settings(),
        )[0]
        return W
