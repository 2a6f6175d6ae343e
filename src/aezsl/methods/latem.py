"""LatEm: several bilinear mappings, of which every pair of image and class picks its best."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.arrays import Array
from aezsl.kinds import Count, Positive, Seed
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.ranking_sgd import Violator, compatibilities, minimise_ranking_loss


class LatEm(ZeroShotClassifier):
    r"""Latent embeddings, piecewise linear: every pair of image and class picks the best of several mappings.

    .. math::
        \min_{W_1 \dots W_K} \frac1n \sum_i \sum_{c \ne y_i} \left\{ 1 + F(x_i, s_c) - F(x_i, s_{y_i}) \right\}_+,
        \quad F(x, s) = \max_k x' W_k s

    by stochastic gradient descent at a constant rate that estimates the inner sum by one random class per sample, as
    the original does. The violating class is pushed down in the map that scored it, the true class up in the map
    that scores it; these may differ. X is (n, d), S is (C, a), W is (K, d, a), started at N(0, 1/d).

    Checked against two public copies of the authors' code: the start, the margin of 1, one random wrong class, an
    update only where it violates the margin, and which maps are moved, are as there. The code prunes no maps; like
    here, it takes K and the rate from validation classes.

    What differs: a step averages over a mini-batch instead of taking one sample, so rates are larger by its size. The
    original makes 150 passes at rates of 0.1 (CUB, Dogs) or 0.001 (AwA) and tries up to 10 maps; rate times passes is
    about the same here for CUB. The original standardises every feature, which here belongs to the preparation of the
    data.

    Parameters
    ----------
    n_maps : int
        K; one map with ``violator="max"`` is SJE.
    learning_rate : float
        Constant step size, for features and semantics of unit norm.
    n_epochs : int
        Passes over the training samples.
    violator : str
        Which classes a sample is compared with: ``random`` as in the original, ``max``, ``all`` or ``first``.
    batch_size : int
        Samples per step.
    random_state : int
        Seed of the start, of the order of samples and of the violating classes.

    """

    n_maps: Count = 4
    learning_rate: Positive = 30.0
    n_epochs: Count = 20
    violator: Violator = "random"
    batch_size: Count = 64
    random_state: Seed = 0

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "n_maps": [2, 4, 6],  # one map is SJE; the original tries up to 10
        "learning_rate": [30.0, 100.0],  # times passes, about the original's for CUB; see what differs
    }
    citation: ClassVar[str] = (
        "Y. Xian, Z. Akata, G. Sharma, Q. Nguyen, M. Hein and B. Schiele. "
        "Latent embeddings for zero-shot classification. CVPR 2016."
    )

    W_: Array

    def _fit(self, seen: SeenData) -> None:
        self.W_ = minimise_ranking_loss(
            seen.X,
            seen.y,
            seen.S,
            violator=self.violator,
            margin=1.0,
            learning_rate=self.learning_rate,
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            random_state=self.random_state,
            n_maps=self.n_maps,
        )

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return {"prototypes": S_target}

    def _scores(self, X: Array, prototypes: Array) -> Array:  # type: ignore[override]
        return compatibilities(self.W_, X, prototypes)[0]
