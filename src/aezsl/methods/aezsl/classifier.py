"""AEZSL after it has met its targets: their classifiers, and their mappings when somebody asks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aezsl.arrays import Array
from aezsl.methods.aezsl.solver import target_mapping
from aezsl.methods.aezsl.sweeps import objective_terms
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.seen import Targets

if TYPE_CHECKING:
    from aezsl.methods.aezsl.aezsl import AEZSL


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


class AEZSLClassifier(LinearClassifier):
    """Classifiers p_c = W_c a_c (d, C) of the targets, and what determines the mappings W_c.

    solution : the sum Z (q, r) of all mappings on the bases U and Q, or all mappings (C, q, r) where they were swept,
        or None where the classifiers came without it.
    objective_trace : the objective after the start and after each sweep, where it was swept.
    """

    model: "AEZSL"

    def __init__(
        self,
        model: "AEZSL",
        targets: Targets,
        classifiers: Array,
        solution: Array | None = None,
        objective_trace: Array | None = None,
    ) -> None:
        super().__init__(model, targets.S, classifiers)
        self.unmoved = targets.unmoved
        self.solution, self.objective_trace = solution, objective_trace

    def mappings(self, classes: Sequence[int] | None = None) -> Mappings:
        """The mappings W_c (d, a) of all targets, or of those chosen, each built when it is asked for."""
        every = range(len(self.S_target))
        reduced, model = self._reduced_mapping(), self.model
        return Mappings(
            lambda c: model.U_ @ reduced(c) @ model.Q_.T, every if classes is None else [every[c] for c in classes]
        )

    def mapped_attributes(self, X: ArrayLike, c: int) -> Array:
        """``X W_c`` (m, a): what target c's own mapping makes of the samples, attribute by attribute."""
        W: Array = self.mappings([c])[0]
        return self._check(X) @ W

    def objective(self) -> dict[str, float]:
        """The objective at these mappings: its four terms and their total."""
        reduced = Mappings(self._reduced_mapping(), range(len(self.S_target)))
        weights = self.model.similarity(self._targets.given)
        return objective_terms(self.model.reduced, weights, reduced, self.model.lambdas)

    def state(self) -> dict[str, Any]:
        """Targets, classifiers and what determines the mappings."""
        more = {name: getattr(self, name) for name in ("unmoved", "solution", "objective_trace")}
        return super().state() | {name: value for name, value in more.items() if value is not None}

    @classmethod
    def from_state(cls, model: Any, state: Mapping[str, Any]) -> Self:
        """The classifier that ``state`` was taken of."""
        determined = (state.get(name) for name in ("solution", "objective_trace"))
        targets = Targets(state["S_target"], unmoved=state.get("unmoved"))
        return cls(model, targets, state["classifiers"], *determined)

    @property
    def _targets(self) -> Targets:
        return Targets(self.S_target, unmoved=self.unmoved)

    def _reduced_mapping(self) -> Callable[[int], Array]:
        """Builds W_c (q, r) on the bases U and Q."""
        model, targets = self.model, self._targets
        if self.solution is not None and self.solution.ndim == 3:
            swept = self.solution
            return lambda c: swept[c]
        Z = self.solution
        if model.lambda3 == 0:  # independent targets
            Z = np.zeros((1, model.Q_.shape[1]))
        elif Z is None:  # the classifiers came from the table of a grid
            Z, _ = model._solve(targets)
        seen, total, similarity = model.reduced, Z, model.similarity
        assert total is not None  # coupled targets always have it

        def build(c: int) -> Array:
            weights = similarity(targets.given[c : c + 1])[0]
            return target_mapping(seen, weights, model.lambdas, total, len(targets.S))

        return build
