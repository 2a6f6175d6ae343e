"""What an AEZSL model keeps of the targets it was asked about."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aezsl.arrays import Array
from aezsl.methods.aezsl.path_table import PathTable
from aezsl.methods.aezsl.solver import Targets


@dataclass
class Decompositions:
    """The last targets' decompositions. They depend on no lambda, so all models of a path share them."""

    S_target: Array | None = None
    targets: Targets | None = None
    table: PathTable | None = None
    n_points: int = 1  # how many models share them


class Solution(NamedTuple):
    """The answer for some targets and parameters."""

    S_target: Array
    key: tuple[Any, ...]
    shared: Array  # the sum Z (q, r) of all mappings, or all mappings (C, q, r) where they were swept
    P: Array  # (q, C) classifiers

    def answers(self, S_target: Array, key: tuple[Any, ...]) -> bool:
        """Whether this is the solution for these targets and parameters."""
        return self.key == key and np.array_equal(self.S_target, S_target)


class Mappings(Sequence[Array]):
    """The mappings W_c of chosen targets, each built when it is asked for."""

    def __init__(self, build: Callable[[int], Array], classes: Sequence[int]) -> None:
        self._build, self._classes = build, classes

    def __len__(self) -> int:
        return len(self._classes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Mappings(self._build, self._classes[index])
        return self._build(self._classes[index])

    def __iter__(self) -> Iterator[Array]:
        return (self._build(c) for c in self._classes)
