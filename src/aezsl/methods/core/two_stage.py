"""A linear method and a second stage that learns from the pool, as one method."""

from collections.abc import Iterator, Mapping
from inspect import Parameter
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aezsl.errors import DataError
from aezsl.methods.core.checks import check_given, check_rows
from aezsl.methods.core.classifiers import PoolClassifier, TargetClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs, ZeroShotClassifier
from aezsl.methods.core.parameters import Declared
from aezsl.methods.core.seen import SeenData, Targets


class BasedMethod(ZeroShotClassifier):
    """A linear method, the base, whose answers about the pool a second stage improves.

    Its parameters are those of the base method and those of the stage, side by side; ``grid`` holds the stage's only:
    the base's own grid is searched before, with the base alone. Its state is the base's, and what ``_fit_stage``
    learns beside it.

    A subclass names its ``base`` and ``stage`` and, in ``defaults``, where it departs from the defaults of the two. It
    defines ``_improve`` and, where the stage needs to know the seen data, ``_fit_stage`` and ``stage_state``.
    """

    #: The registered linear method that comes first.
    base: ClassVar[str]
    #: An estimator whose parameters are those of the second stage; its ``check_parameters`` refuses bad ones.
    stage: ClassVar[type[Declared]]
    #: Parameters whose default is not the one of the base method or of the stage.
    defaults: ClassVar[Mapping[str, Any]] = {}
    #: Fitted values that the stage adds to those of the base.
    stage_state: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[Needs] = "statistics"
    transductive = True
    classifier_class: ClassVar[type[TargetClassifier]] = PoolClassifier

    _base: LinearZeroShotClassifier

    @classmethod
    def declared(cls) -> Iterator[Parameter]:
        """The parameters of the base method, then those of the stage; none as long as there is no base."""
        if hasattr(cls, "base"):
            both = {
                parameter.name: parameter for part in (cls._base_class(), cls.stage) for parameter in part.declared()
            }
            for name, parameter in both.items():
                yield parameter.replace(default=cls.defaults.get(name, parameter.default))

    @classmethod
    def _base_class(cls) -> type[LinearZeroShotClassifier]:
        from aezsl.methods.registry import method_class

        base = method_class(cls.base)
        if not issubclass(base, LinearZeroShotClassifier):
            raise TypeError(f"only a linear method can come first, and {cls.base} is not linear")
        return base

    def check_parameters(self) -> None:
        """Refuse what either of the two refuses."""
        super().check_parameters()
        self.first().check_parameters()
        self.stage(**self.stage_params()).check_parameters()

    def base_params(self) -> dict[str, Any]:
        """The parameters of the base method."""
        return {name: getattr(self, name) for name in _names(self._base_class())}

    def stage_params(self) -> dict[str, Any]:
        """The parameters of the second stage."""
        return {name: getattr(self, name) for name in _names(self.stage)}

    def first(self) -> LinearZeroShotClassifier:
        """The linear method that comes first, not fitted. With ``or_refines`` it may be another than ``base``."""
        return self._base_class()(**self.base_params())

    def starts_from(self, base: ZeroShotClassifier) -> bool:
        """Whether the base method with these parameters is the one that comes first."""
        first = self.first()
        own: bool = base.get_params() == first.get_params()
        return own and isinstance(base, type(first))

    def fit_around(self, base: ZeroShotClassifier, seen: SeenData) -> Self:
        """Become fitted around a base that is fitted already, on the same seen data."""
        self._adopt(base)
        self._fit_stage(seen)
        return self

    def improve(self, start: TargetClassifier, X_pool: ArrayLike, given: ArrayLike | None = None) -> PoolClassifier:
        """Improve what the adapted base, ``start``, says about the pool; given : as the base adapted with."""
        check_is_fitted(self, "n_features_in_")
        pool = check_rows("X_pool", X_pool, self.n_features_in_, "features")
        own = None if given is None else check_given("given", given, len(start.S_target))
        return self._improve(start, Targets(start.S_target, pool, unmoved=own))

    def get_state(self) -> dict[str, Any]:
        """The fitted values of the base and of the stage."""
        check_is_fitted(self, "n_features_in_")
        return {**self._base.get_state(), **{name: getattr(self, name) for name in self.stage_state}}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        if missing := [name for name in self.stage_state if name not in state]:
            raise DataError(f"{type(self).__name__} needs {', '.join(missing)} in its state: give what get_state gave")
        base_state = {name: value for name, value in state.items() if name not in self.stage_state}
        self._adopt(self.first().set_state(base_state))
        for name in self.stage_state:
            setattr(self, name, state[name])
        return self

    def restore_ranker(self, state: Mapping[str, Any]) -> TargetClassifier:
        """The adapted base."""
        return self._base.restore(state)

    def _adopt(self, base: ZeroShotClassifier) -> None:
        if not isinstance(base, type(first := self.first())):
            raise DataError(f"{type(self).__name__} builds on {type(first).__name__}, not on {type(base).__name__}")
        self.check_parameters()
        self._base = base
        self.n_features_in_, self.n_semantics_in_ = base.n_features_in_, base.n_semantics_in_
        self.moved_semantics_ = base.moved_semantics_

    def _fit(self, seen: SeenData) -> None:
        first = self.first()
        # Points of a grid that differ in the second stage alone share the base.
        key = ("base", type(first).__name__, *first.get_params().items())
        self.fit_around(seen.once(key, lambda: first.fit_seen(seen)), seen)

    def _fit_stage(self, seen: SeenData) -> None:
        """What the stage learns from seen data; nothing unless a subclass needs it."""

    def _adapt(self, targets: Targets) -> TargetClassifier:
        base = self._base
        start = targets.once(base, "adapted base", lambda: base.adapt_to(targets.for_one_model()))
        return start if targets.pool is None else self._improve(start, targets)  # without a pool it is the base

    def _improve(self, start: TargetClassifier, targets: Targets) -> PoolClassifier:
        raise TypeError(f"{type(self).__name__} must define _improve")


def _names(cls: type[Declared]) -> list[str]:
    return [parameter.name for parameter in cls.declared()]
