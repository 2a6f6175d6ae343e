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

    With :math:`\cos` between target and seen class: ``none`` is 1, ``cosine`` is :math:`|\cos|`, ``cosine_squared``
    is :math:`\cos^2`, which the AEZSL objective has (it multiplies errors by the cosine and then squares them),
    ``cosine_power_4`` and ``cosine_power_8`` are sharper. There a negative cosine counts as much as a positive
    one, as in that objective. ``centred_cosine_squared`` takes cosines of semantics less the mean of the seen classes'
    and lets only positive ones count: of two classes on opposite sides of the mean, none tells about the other.

    No weighting is scaled to a common sum: a sharper one also lowers the loss against its regularisers, whose weights
    must be chosen for each.
    """

    S: Array  # (Cs, a) seen semantics, less the centre
    lengths: Array  # (Cs,) of these
    centre: Array | None  # (a,)
    power: int

    @classmethod
    def for_seen(cls, S: Array, weighting: Weighting) -> "SimilarityWeights":
        """The weights of seen classes with semantics S (Cs, a), on the dimensions or on any basis of the rows of S."""
        power, centred = _RULES[weighting]
        centre = S.mean(axis=0) if centred else None
        lengths = _lengths(S, np.linalg.norm(S, axis=1), centre)
        return cls(S if centre is None else S - centre, lengths, centre, power)

    def __call__(self, A: Array, lengths: Array | None = None) -> Array:
        """The weights (C, Cs) for targets A (C, a) in the same coordinates as S.

        lengths : (C,) of the targets' whole vectors, where A has only what lies in the span of the seen semantics.
        """
        if self.power == 0:
            return np.ones((len(A), len(self.S)))
        own = _lengths(A, np.linalg.norm(A, axis=1) if lengths is None else lengths, self.centre)
        products = (A if self.centre is None else A - self.centre) @ self.S.T
        scale = np.outer(own, self.lengths)
        # A vector at the centre has no direction: it resembles no class.
        cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
        cosines = np.abs(cosines) if self.centre is None else cosines.clip(min=0)
        weights: Array = cosines**self.power
        return weights


def _lengths(A: Array, lengths: Array, centre: Array | None) -> Array:
    """Lengths (C,) of vectors less the centre, from A (C, a), their part in the span of the seen ones, and ``lengths``.

    The centre has no part outside of that span, so the length alone says enough about what lies there.
    """
    if centre is None:
        return lengths
    squares = np.square(lengths) - 2 * (A @ centre) + centre @ centre
    rounding = ROUNDING * (np.square(lengths) + centre @ centre)
    return np.sqrt(np.where(squares > rounding, squares, 0))
