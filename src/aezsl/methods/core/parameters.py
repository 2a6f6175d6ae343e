"""Parameters of an estimator, declared once: their names, types and defaults are lines of the class body."""

from collections.abc import Iterator, Mapping
from functools import cache
from inspect import Parameter, Signature, get_annotations
from typing import Annotated, Any, ClassVar, get_origin

from annotated_types import MinLen
from pydantic import create_model
from sklearn.base import BaseEstimator

from aezsl.errors import ParameterError
from aezsl.kinds import Settings, check_value

#: What ``get_origin`` gives for a ClassVar.
CLASS_VAR: Any = ClassVar


class Declared(BaseEstimator):
    """An estimator whose constructor follows from its class body, as scikit-learn wants it: it only stores.

    An annotated attribute that has a value is a parameter, ``lam: Positive = 1.0``. One without a value is fitted, and
    a ``ClassVar`` is neither. A subclass has the parameters of its parents too, but for those that it fixes. One that
    writes its own ``__init__`` keeps it.
    """

    #: Parameters of a parent that are not parameters here, with the value they keep.
    fixed: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in cls.fixed.items():
            setattr(cls, name, value)
        if "__init__" not in vars(cls):
            cls.__init__ = _constructor(list(cls.declared()))  # type: ignore[method-assign]

    @classmethod
    def declared(cls) -> Iterator[Parameter]:
        """Name, type and default of every parameter, those of parents first."""
        types: dict[str, Any] = {}
        for part in reversed(cls.__mro__):
            own = get_annotations(part)
            types |= {name: own[name] for name in own if name in vars(part) and get_origin(own[name]) is not CLASS_VAR}
        for name in types:
            if name not in cls.fixed:
                default = getattr(cls, name)
                yield Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=types[name])

    def check_parameters(self) -> None:
        """Refuse values that are not of the declared kind; scikit-learn wants it done by ``fit``, not before.

        A subclass adds what relates several parameters, and nothing that a kind can say.
        """
        for parameter in self.declared():
            if wrong := check_value(kind_of(parameter), getattr(self, parameter.name)):
                raise ParameterError(
                    f"{parameter.name} of {type(self).__name__}: {wrong}. Set it by set_params({parameter.name}=...)"
                )

    @classmethod
    @cache  # one class: Kedro warns of nodes that want different ones
    def settings(cls) -> type["MethodSettings"]:
        """The class of a section of parameters for this method: values that are fixed, and ``grid``."""
        kinds = {parameter.name: kind_of(parameter) for parameter in cls.declared()}
        # None stands for what nobody gave: pydantic checks no default, so that a null given must fit the kind.
        values = {name: (Annotated[list[kind], MinLen(1)], None) for name, kind in kinds.items()}  # type: ignore[valid-type]
        grid = create_model(f"{cls.__name__}Grid", __base__=_Made, **values)  # type: ignore[call-overload]
        fields = {name: (kind, None) for name, kind in kinds.items()}
        made: type[MethodSettings] = create_model(  # type: ignore[call-overload]
            f"{cls.__name__}Settings", __base__=MethodSettings, **fields, grid=(grid, grid())
        )
        made.made_by, grid.made_by = (cls, ""), (cls, "grid")
        return made


class _Made(Settings):
    """Of a class that no module has: processes that take an object over make the class again."""

    made_by: ClassVar[tuple[type[Declared], str]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_again, (*self.made_by, self.model_dump(exclude_unset=True))


def _make_again(method: type[Declared], part: str, values: Mapping[str, Any]) -> Settings:
    made: Any = method.settings()
    return (made.model_fields[part].annotation if part else made)(**values)  # type: ignore[no-any-return]


class MethodSettings(_Made):
    """What the parameters say of one method: a value given is fixed, not searched; ``grid`` replaces values searched.

    Names and kinds are those of the method's class (``Declared.settings``).
    """

    grid: Settings = Settings()

    @property
    def fixed(self) -> dict[str, Any]:
        """The parameters with one value."""
        return _given(self, leave_out="grid")

    @property
    def searched(self) -> dict[str, list[Any]]:
        """The values that replace those of the class."""
        return _given(self.grid)


def _given(settings: Settings, leave_out: str = "") -> dict[str, Any]:
    given = settings.model_fields_set - {leave_out}
    return {name: getattr(settings, name) for name in type(settings).model_fields if name in given}


def kind_of(parameter: Parameter) -> Any:
    """What a declared parameter may be; where its type is written as text, what is like its default."""
    if isinstance(parameter.annotation, str):
        return Any if parameter.default is None else type(parameter.default)
    return parameter.annotation


def _constructor(parameters: list[Parameter]) -> Any:
    signature = Signature([Parameter("self", Parameter.POSITIONAL_ONLY), *parameters])

    def __init__(self: Any, *args: Any, **params: Any) -> None:
        if unknown := sorted(params.keys() - signature.parameters.keys()):
            known = ", ".join(parameter.name for parameter in parameters)
            raise TypeError(f"{type(self).__name__} has no parameter {', '.join(unknown)}; it takes: {known}")
        values = signature.bind(self, *args, **params)
        values.apply_defaults()
        for parameter in parameters:
            setattr(self, parameter.name, values.arguments[parameter.name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
