"""SJE: one bilinear mapping, trained as a structured support vector machine."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.arrays import Array
from aezsl.kinds import Count, Positive, Seed
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.ranking_sgd import RankingMethod


class SJE(RankingMethod):
    r"""Structured joint embedding: one bilinear mapping, trained as a structured support vector machine.

    .. math::
        \min_W \frac1n \sum_i \max_c \left\{ \Delta(y_i, c) + F(x_i, s_c) - F(x_i, s_{y_i}) \right\}_+,
        \quad F(x, s) = x' W s, \quad \Delta(y, c) = [c \ne y]

    by stochastic gradient descent at a constant rate: the most violating class of every sample is pushed down, its
    true class up. X is (n, d), S is (C, a), W is (d, a). There is no penalty on W: the number of passes and the
    rate are the regularisation.

    Checked against three reimplementations: one most violating class per sample, a constant rate, no penalty and passes
    chosen by validation are as there. They also normalise the mapped image before that choice, which one of their
    authors says the paper does not ask for. The authors' code and the paper's full text were not at hand.

    What differs: a step averages the gradient over a mini-batch instead of taking one sample. The margin is
    not a parameter: scaling it scales the solution and the rate, and ranks stay.

    Parameters
    ----------
    learning_rate : float
        Constant step size, for features and semantics of unit norm.
    n_epochs : int
        Passes over the training samples.
    batch_size : int
        Samples per step.
    random_state : int
        Seed of the start and of the order of samples.

    """

    learning_rate: Positive = 10.0
    n_epochs: Count = 20
    batch_size: Count = 64
    random_state: Seed = 0

    # There is no penalty: rate and number of passes are the regularisation.
    grid: ClassVar[Mapping[str, list[Any]]] = {
        "learning_rate": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0],  # below 1 for text vectors
        "n_epochs": [10, 30],
    }
    citation: ClassVar[str] = (
        "Z. Akata, S. Reed, D. Walter, H. Lee and B. Schiele. "
        "Evaluation of output embeddings for fine-grained image classification. CVPR 2015."
    )

    W_: Array

    def _fit(self, seen: SeenData) -> None:
        self.W_ = self._descend(seen)

    def loss_settings(self) -> dict[str, Any]:
        """The most violating class counts."""
        return {"violator": "max", "margin": 1.0}

    def _classifiers(self, S_target: Array) -> Array:
        return self.W_ @ S_target.T
