"""The ridge regression from semantics to features: a class lies where its description puts it."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from aezsl.arrays import Array
from aezsl.kinds import Positive
from aezsl.methods.core.classifiers import LinearClassifier, TargetClassifier
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.shared.prototypes import signature_map


class Ridge(ZeroShotClassifier):
    r"""The ridge from semantics to features: where the images of a class will lie; the nearest prototype wins.

    .. math:: \min_D \sum_i \|x_i - D's_{y_i}\|^2 + \lambda \|D\|_F^2

    with D (a, d), and the prototype :math:`D'a_t` of a target t. Mapping classes to images, not images to classes,
    leaves fewer targets that are near to everything.

    What differs: there is no intercept. Written from the formula alone; no code by the authors was compared.

    Parameters
    ----------
    lam : float
        Weight of the map's norm; must be positive. Sums are over samples, so it counts against their number.

    """

    lam: Positive = 3.0

    grid: ClassVar[Mapping[str, list[float]]] = {"lam": [1e-2, 1e-1, 1.0, 3.0, 1e1, 3e1, 1e2, 3e2, 1e3]}
    citation: ClassVar[str] = (
        "Y. Shigeto, I. Suzuki, K. Hara, M. Shimbo and Y. Matsumoto. "
        "Ridge regression, hubness, and zero-shot learning. ECML PKDD 2015."
    )
    needs: ClassVar[Needs] = "statistics"
    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    D_: Array  # (a, d)

    def _fit(self, seen: SeenData) -> None:
        self.D_ = signature_map(seen.S, seen.statistics, self.lam)

    def _adapt(self, targets: Targets) -> TargetClassifier:
        return nearest_prototype(self, targets.S, (targets.S @ self.D_).T)


def nearest_prototype(model: ZeroShotClassifier, S_target: Array, prototypes: Array) -> LinearClassifier:
    """The classifier that takes the nearest of the prototypes (d, C): half the squared distance, but for x'x."""
    return LinearClassifier(model, S_target, prototypes, -0.5 * np.square(prototypes).sum(axis=0))
