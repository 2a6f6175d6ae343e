"""Kinds of parameters as annotations, what each takes, and how a sentence calls it.

A parameter is annotated with what it may be, ``lam: Positive = 1.0``; whoever is given a value asks ``accepts``.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
#: Of something that must neither be all nor nothing.
Fraction = Annotated[float, Gt(0), Lt(1)]
#: Of something that may be nothing, but not all.
Share = Annotated[float, Ge(0), Lt(1)]
#: From nothing to all.
Proportion = Annotated[float, Ge(0), Le(1)]
#: How many times as much.
AtLeastOne = Annotated[float, Ge(1)]
Count = Annotated[int, Ge(1)]
CountOrNone = Annotated[int, Ge(0)]
Seed = Annotated[int, Ge(0), Lt(2**32)]
Text = Annotated[str, MinLen(1)]

#: Parameters or settings by name.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Joined:
    """Words joined by plus signs, as the command line gives a list; alternatives have a slash between them."""

    options: tuple[str, ...]
    alternatives: bool = False

    def accepts(self, value: str) -> bool:
        """Whether all words are among the options."""
        ways = value.split("/") if self.alternatives else [value]
        return all(word in self.options for way in ways for word in way.split("+"))

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"of {', '.join(self.options)}, joined by +" + (", alternatives by /" if self.alternatives else "")


@dataclass(frozen=True)
class Named:
    """A mapping with no other names than these, each of its kind; ``needed`` must be there."""

    kinds: tuple[tuple[str, Any], ...]
    needed: str

    def accepts(self, value: Any) -> bool:
        """Whether all names are known, and their values of their kind."""
        known = dict(self.kinds)
        return self.needed in value and all(name in known and accepts(known[name], value[name]) for name in value)

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"of {', '.join(f'{name} ({describe(kind)})' for name, kind in self.kinds)}"


_PLAIN = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "null",
    dict: "a mapping",
}


def choice(options: Sequence[str]) -> Any:
    """One of these words."""
    return Literal.__getitem__(tuple(options))  # type: ignore[attr-defined]


def list_of(kind: Any, at_least: int = 0) -> Any:
    """A list of such values."""
    values = types.GenericAlias(list, (kind,))
    return Annotated.__class_getitem__((values, MinLen(at_least))) if at_least else values  # type: ignore[attr-defined]


def joined(options: Sequence[str], alternatives: bool = False) -> Any:
    """Some of these words, joined by plus signs; with ``alternatives``, several such texts with slashes between."""
    return Annotated.__class_getitem__((str, Joined(tuple(options), alternatives)))  # type: ignore[attr-defined]


def mapping(needed: str, **kinds: Any) -> Any:
    """A mapping of these names, of which only ``needed`` must be there."""
    return Annotated.__class_getitem__((dict, Named(tuple(kinds.items()), needed)))  # type: ignore[attr-defined]


def accepts(kind: Any, value: Any) -> bool:
    """Whether the value is of this kind. A whole number is a number; true and false are not, nor is infinity."""
    kind, limits = _split(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        fits = any(accepts(part, value) for part in parts)
    elif origin is Literal:
        fits = any(value == option and type(value) is type(option) for option in parts)
    elif kind is list or (isinstance(origin, type) and issubclass(origin, Sequence)):
        fits = isinstance(value, list | tuple) and all(accepts(parts[0], item) for item in value if parts)
    elif kind in (int, float):
        number = Integral if kind is int else Real
        fits = isinstance(value, number) and not isinstance(value, bool) and _is_finite(value)
    else:
        fits = kind is Any or not isinstance(kind, type) or isinstance(value, kind)
    return fits and all(_within(limit, value) for limit in limits)


def _is_finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number that no floating one can hold
        return False


def describe(kind: Any) -> str:
    """What a value must be, as part of a sentence."""
    kind, limits = _split(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(part) for part in parts)
    if origin is Literal:
        *first, last = map(str, parts)
        return f"{', '.join(first)} or {last}" if first else last
    at_least = next((limit.min_length for limit in limits if isinstance(limit, MinLen)), 0)
    if kind is list or (isinstance(origin, type) and issubclass(origin, Sequence)):
        what = "a list" if not at_least else f"a list of at least {at_least}"
        return f"{what}, each {describe(parts[0])}" if parts else what
    if kind is str and at_least:
        return "a text that is not empty"
    bounds = " and ".join(_bound(limit) for limit in limits)
    return f"{_PLAIN.get(kind, getattr(kind, '__name__', str(kind)))} {bounds}".strip()


def _split(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(kind) is not Annotated:
        return kind, ()
    kind, *limits = get_args(kind)
    return kind, tuple(limit for limit in limits if isinstance(limit, Gt | Ge | Lt | Le | MinLen | Joined | Named))


def _within(limit: Any, value: Any) -> bool:
    match limit:
        case Gt():
            return bool(value > limit.gt)
        case Ge():
            return bool(value >= limit.ge)
        case Lt():
            return bool(value < limit.lt)
        case Le():
            return bool(value <= limit.le)
        case Joined() | Named():
            return limit.accepts(value)
        case _:
            return bool(len(value.strip() if isinstance(value, str) else value) >= limit.min_length)


def _bound(limit: Any) -> str:
    match limit:
        case Gt():
            return f"above {limit.gt}"
        case Ge():
            return f"of at least {limit.ge}"
        case Lt():
            return f"below {limit.lt}"
        case Joined() | Named():
            return str(limit)
        case _:
            return f"of at most {limit.le}"
