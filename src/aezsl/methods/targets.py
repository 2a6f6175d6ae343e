"""What a fitted method meets in ``adapt``: the target classes, the pool, and what several models share about them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from aezsl.arrays import Array
from aezsl.data.once import Once

T = TypeVar("T")


@dataclass(frozen=True)
class Targets:
    """Target classes S (C, a), and the unlabelled pool X (m, d) where there is one.

    A grid adapts many models to one object: what depends on no searched parameter is computed once.
    """

    S: Array
    pool: Array | None = None
    n_models: int = 1  # how many models will adapt to this: many of them pay for a table of solutions
    progress: bool = True  # whether long work shows a bar
    _shared: Once = field(default_factory=Once, repr=False)

    def once(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """What all models share that hold the same ``owner`` (an array or a model they were fitted with)."""

        def kept() -> tuple[object, T]:
            return owner, compute()  # the owner lives on with the value, or another object could get its id

        return self._shared((id(owner), key), kept)[1]

    def for_one_model(self) -> Self:
        """The same targets, with all that is shared, for a model that is not repeated along the grid."""
        return replace(self, n_models=1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Targets, (self.S, self.pool, self.n_models, self.progress)
