"""ESZSL: one bilinear visual-semantic mapping in closed form."""

from collections.abc import Mapping
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from aezsl.arrays import Array
from aezsl.kinds import Positive
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData


class ESZSL(LinearZeroShotClassifier):
    r"""Embarrassingly simple zero-shot learning: one bilinear visual-semantic mapping in closed form.

    .. math::
        \min_W \|X W S' - Y\|_F^2 + \gamma \|W S'\|_F^2 + \lambda \|X W\|_F^2 + \gamma\lambda \|W\|_F^2

    with the closed form :math:`W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}`. On the eigenvectors of
    :math:`X'X = U \mathrm{diag}(l) U'` and :math:`S'S = V \mathrm{diag}(t) V'` both inverses are divisions,

    .. math:: W = U \left[ (U'X'YSV) / ((l + \gamma)(t + \lambda)') \right] V'

    so one pair of decompositions serves every (gamma, lam).

    What differs: Y is one-hot with zeros elsewhere, as in the paper this project implements; the original uses -1 for
    the other classes.

    Parameters
    ----------
    gamma : float
        Weight of the classifiers' norm; must be positive.
    lam : float
        Weight of the mapped features' norm; must be positive.

    """

    gamma: Positive = 10.0
    lam: Positive = 1.0

    # The range that the paper this project implements searches for the lambdas of AEZSL.
    grid: ClassVar[Mapping[str, list[float]]] = {
        "gamma": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "lam": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
    }
    citation: ClassVar[str] = (
        "B. Romera-Paredes and P. H. S. Torr. An embarrassingly simple approach to zero-shot learning. ICML 2015."
    )

    needs: ClassVar[Needs] = "statistics"

    def _fit(self, seen: SeenData) -> None:
        (U, l), (V, t) = seen.spectrum(), seen.semantic_spectrum()
        N = seen.once("eszsl", lambda: (seen.statistics.sums @ U).T @ (seen.S @ V))  # U'X'YSV
        self._factors: tuple[Array, ...] = U, N / np.outer(l + self.gamma, t + self.lam), V.T

    @property
    def W_(self) -> Array:
        """The mapping (d, a), built when somebody asks: a grid needs only classifiers, which cost less."""
        return reduce(np.matmul, self._factors)

    def get_state(self) -> dict[str, Any]:
        """The mapping alone; its factors are larger and only serve speed."""
        return {"W_": self.W_, **super().get_state()}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        self._factors = (state["W_"],)
        return super().set_state({name: value for name, value in state.items() if name != "W_"})

    def _classifiers(self, S_target: Array) -> Array:
        return reduce(lambda P, factor: factor @ P, reversed(self._factors), S_target.T)
