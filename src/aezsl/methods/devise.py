"""DeViSE: images mapped next to their class vector, by a hinge rank loss."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from aezsl.arrays import Array, unit_rows
from aezsl.kinds import Count, Positive, Seed
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.ranking_sgd import RankingMethod


class DeViSE(RankingMethod):
    r"""Deep visual-semantic embedding on given features: images mapped next to their class vector by a rank loss.

    .. math::
        \min_M \frac1n \sum_i \sum_{c \ne y_i} \left\{ \mathrm{margin} - t_{y_i}' M x_i + t_c' M x_i \right\}_+,
        \quad t_c = s_c / \|s_c\|

    by stochastic gradient descent; an unseen class is chosen by its cosine with the mapped image. X is (n, d), S is
    (C, a), M is (a, d).

    Checked against notes on the paper and three reimplementations: class vectors of unit length, the margin of 0.1, the
    hinge on dot products and the stop at the first violating class are as there. The paper's full text was not at
    hand, and no code by the authors was found.

    What differs: the original then also trains the network that makes x; here x is given, which is the original's
    first stage. A step averages over a mini-batch, at a constant rate, where the original adapts its rates (Adagrad).

    Parameters
    ----------
    learning_rate : float
        Constant step size, for features of unit norm.
    n_epochs : int
        Passes over the training samples.
    margin : float
        Lead that the true class must have; 0.1 in the original.
    violator : str
        ``all`` sums over all violating classes, as the loss says; ``first`` stops at the first one in random order,
        the original's short cut.
    batch_size : int
        Samples per step.
    random_state : int
        Seed of the start, of the order of samples and of the violating classes.

    """

    learning_rate: Positive = 0.1
    n_epochs: Count = 20
    margin: Positive = 0.1
    violator: Literal["all", "first"] = "all"
    batch_size: Count = 64
    random_state: Seed = 0

    # There is no penalty: rate and number of passes are the regularisation.
    grid: ClassVar[Mapping[str, list[Any]]] = {
        "learning_rate": [0.03, 0.1, 0.3, 1.0],
        "n_epochs": [3, 10, 30],  # down to 3 for text vectors, which need few passes
    }
    citation: ClassVar[str] = (
        "A. Frome, G. S. Corrado, J. Shlens, S. Bengio, J. Dean, M. Ranzato and T. Mikolov. "
        "DeViSE: a deep visual-semantic embedding model. NIPS 2013."
    )

    M_: Array

    def _fit(self, seen: SeenData) -> None:
        self.M_ = self._descend(seen).T

    def loss_settings(self) -> dict[str, Any]:
        """All violating classes count, or one of them."""
        return {"violator": self.violator, "margin": self.margin}

    def class_vectors(self, S: Array) -> Array:
        """Class vectors have unit length."""
        return unit_rows(S)

    def _classifiers(self, S_target: Array) -> Array:
        # The length of M x is common to all classes, so this ranks as the cosine does.
        return self.M_.T @ self.class_vectors(S_target).T
