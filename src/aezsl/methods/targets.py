"""What a fitted method meets in ``adapt``: the target classes, the pool, and what several models share about them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from aezsl.arrays import Array
from aezsl.data.once import Once, SameObject

T = TypeVar("T")


@dataclass(frozen=True)
class Targets:
    """Target classes S (C, a), and the unlabelled pool X (m, d) where there is one.

    A grid adapts many models to one object. What they find out about the targets on the way, and what depends on no
    searched parameter, is kept here (``once``), so that only the first of them computes it.
    """

    S: Array
    pool: Array | None = None
    n_models: int = 1  # how many models will adapt to this: many of them pay for a table of solutions
    progress: bool = True  # whether long work shows a bar
    _shared: Once = field(default_factory=Once, repr=False)

    def once(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``key`` that all models share which hold the very same ``owner``; the first one computes it.

        owner : what the value depends on beside the targets, by identity: an array that fits on the same seen data
            share (``SeenData.once``), or the base that points of a grid share. A model fitted to other data holds
            another object and gets a value of its own. None for what depends on targets and pool alone.
        key : what else the value depends on, its name first.
        """
        return self._shared((SameObject(owner), key), compute)

    def for_one_model(self) -> Self:
        """The same targets, with all that is shared, for a model that is not repeated along the grid."""
        return replace(self, n_models=1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Targets, (self.S, self.pool, self.n_models, self.progress)
