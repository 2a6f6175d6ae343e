"""What is wrong with given parameters, one sentence each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from aezsl.kinds import accepts, choice, describe
from aezsl.runs.parameters.sections import Listed, Section


@dataclass(frozen=True)
class Problem:
    """A parameter, by its full name, and what is wrong with it."""

    path: str
    sentence: str


def find_problems(given: Any, section: Section, candidates: Iterable[str], above: str = "") -> Iterator[Problem]:
    """Whatever in ``given`` the section does not allow; ``candidates`` are all names that there are."""
    if not isinstance(given, Mapping):
        path = above.rstrip(".")
        yield Problem(path, f"{path} must hold {', '.join(section.names)}, got {given!r}")
        return
    for name, value in given.items():
        path = f"{above}{name}"
        behind = section.names.get(name)
        if name not in section.names:
            for unknown in leaves(value, path):
                yield Problem(unknown, f"unknown parameter {unknown}{suggestion(unknown, candidates)}")
        elif isinstance(behind, Section):
            yield from find_problems(value, behind, candidates, f"{path}.")
        elif isinstance(behind, Listed):
            yield from _in_list(value, behind, path)
        elif not accepts(behind, value):
            yield Problem(path, f"{path} must be {describe(behind)}, got {value!r}{_meant(behind, value)}")
    for name in section.names:
        if name in section.required and name not in given:
            yield Problem(f"{above}{name}", f"{above}{name} is missing")


def leaves(value: Any, path: str) -> list[str]:
    """The full names of everything below ``path``."""
    if not isinstance(value, Mapping) or not value:
        return [path]
    return [leaf for name, part in value.items() for leaf in leaves(part, f"{path}.{name}")]


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """The nearest name there is, as the end of a sentence."""
    candidates = list(candidates)
    near = get_close_matches(name, candidates, n=1) or [
        other for other in candidates if other.rpartition(".")[2] == name.rpartition(".")[2]
    ]
    return f": did you mean {near[0]}?" if near else ": conf/README.md says where all parameters stand"


def _in_list(value: Any, listed: Listed, path: str) -> Iterator[Problem]:
    if not isinstance(value, list) or not value:
        yield Problem(path, f"{path} must be a list of at least one, each with its {listed.by}, got {value!r}")
        return
    for number, item in enumerate(value):
        where = f"{path}[{number}]"
        kind = item.get(listed.by) if isinstance(item, Mapping) else None
        if not isinstance(kind, str) or kind not in listed.sections:
            names = ", ".join(listed.sections)
            meant = _meant(choice(list(listed.sections)), kind)
            yield Problem(where, f"{where} must have a {listed.by}, one of: {names}; got {item!r}{meant}")
            continue
        section = listed.sections[kind]
        yield from find_problems(item, section, [f"{where}.{name}" for name in section.names], f"{where}.")


def _meant(kind: Any, value: Any) -> str:
    options = [str(option) for option in get_args(kind)] if get_origin(kind) is Literal else []
    near = get_close_matches(str(value), options, n=1)
    return f": did you mean {near[0]}?" if near else ""
