"""How much every seen class counts for a target class: weights of class tasks, by semantic similarity."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from aezsl.arrays import Array

#: The weight of a seen class, from its cosine with the target. Sharper ones count similar classes more.
Weighting = Literal["none", "cosine", "cosine_squared", "cosine_power_4", "cosine_power_8", "centred_cosine_squared"]

WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)

#: A vector this short, against what was subtracted to make it, is nothing but rounding.
ROUNDING = 1e-12


class _Rule(NamedTuple):
    power: int
    centred: bool = False


_RULES: dict[Weighting, _Rule] = {
    "none": _Rule(0),
    "cosine": _Rule(1),
    "cosine_squared": _Rule(2),
    "cosine_power_4": _Rule(4),
    "cosine_power_8": _Rule(8),
    "centred_cosine_squared": _Rule(2, centred=True),
}


@dataclass(frozen=True)
class SimilarityWeights:
    r"""Weights of the seen classes for any targets: the factors by which the losses of class tasks are multiplied.

    Semantics here are those that were given. Once they are centred, a class on the far side of the mean would count as
    much as one nearby.

    With :math:`\cos` between target and seen class: ``none`` is 1, ``cosine`` is :math:`|\cos|`, ``cosine_squared``
    is :math:`\cos^2`, which the AEZSL objective has (it multiplies errors by the cosine and then squares them),
    ``cosine_power_4`` and ``cosine_power_8`` are sharper. There a negative cosine counts as much as a positive
    one, as in that objective. ``centred_cosine_squared`` takes cosines of semantics less the mean of the seen classes'
    and lets only positive ones count: of two classes on opposite sides of the mean, none tells about the other.

    No weighting is scaled to a common sum: a sharper one also lowers the loss against its regularisers, whose weights
    must be chosen for each.
    """

    S: Array  # (Cs, a) seen semantics as given, less the centre
    lengths: Array  # (Cs,) of these
    centre: Array | None  # (a,)
    power: int

    @classmethod
    def for_seen(cls, S: Array, weighting: Weighting) -> "SimilarityWeights":
        """The weights of seen classes with semantics S (Cs, a)."""
        power, centred = _RULES[weighting]
        centre = S.mean(axis=0) if centred else None
        return cls(*_from_centre(S, centre), centre, power)

    def __call__(self, A: Array) -> Array:
        """The weights (C, Cs) for targets A (C, a)."""
        if self.power == 0:
            return np.ones((len(A), len(self.S)))
        A, lengths = _from_centre(A, self.centre)
        products, scale = A @ self.S.T, np.outer(lengths, self.lengths)
        # A vector at the centre has no direction: it resembles no class.
        cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
        cosines = np.abs(cosines) if self.centre is None else cosines.clip(min=0)
        weights: Array = cosines**self.power
        return weights


def _from_centre(A: Array, centre: Array | None) -> tuple[Array, Array]:
    """Vectors (C, a) less the centre, and their lengths (C,): zero where nothing but rounding is left."""
    if centre is None:
        return A, np.linalg.norm(A, axis=1)
    moved = A - centre
    lengths = np.linalg.norm(moved, axis=1)
    rounding = ROUNDING * np.sqrt(np.square(A).sum(axis=1) + centre @ centre)
    return moved, np.where(lengths > rounding, lengths, 0)
