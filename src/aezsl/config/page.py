"""``python -m aezsl.config.page`` writes conf/README.md's list of parameters from the schema."""

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from aezsl.config.schema import shared_sections
from aezsl.kinds import Settings

PAGE = Path("conf/README.md")
BEGIN, END = "<!-- parameters -->", "<!-- end of parameters -->"


def described(kind: Any) -> str:
    """What a value may be, in a few words."""
    if get_origin(kind) is Annotated:
        kind, *limits = get_args(kind)
        return f"{described(kind)}{''.join(map(_limit, limits))}"
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(described(part) for part in get_args(kind)))
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    if get_origin(kind) is list:
        return f"list of {described(get_args(kind)[0])}"
    if isinstance(kind, type) and issubclass(kind, Settings):
        return "{" + ", ".join(kind.model_fields) + "}"
    return {type(None): "null", str: "text", int: "whole number", float: "number", bool: "true or false"}.get(kind, "")


def _limit(limit: Any) -> str:
    match limit:
        case Gt():
            return f" > {limit.gt}"
        case Ge():
            return f" >= {limit.ge}"
        case Lt():
            return f" < {limit.lt}"
        case Le():
            return f" <= {limit.le}"
    return ""


def section_page(name: str, section: type[Settings]) -> str:
    """One section: what it is for, then a line per parameter."""
    lines = [f"### `{name}`", "", re.sub(r"\n    ", "\n", section.__doc__ or "").strip(), ""]
    for key, field in section.model_fields.items():
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation  # type: ignore[name-defined]
        what = " ".join((field.description or "").split())
        lines.append(f"* `{key}` ({described(kind)}; default `{_yaml(field.default)}`): {what}")
    return "\n".join(lines)


def _yaml(value: Any) -> str:
    words = {None: "null", True: "true", False: "false"}
    return words[value] if isinstance(value, bool | None) else repr(value) if value == "" else str(value)


def make_page(text: str) -> str:
    """The page with its list as the schema is now."""
    before, _, rest = text.partition(BEGIN)
    parts = (section_page(name, section) for name, section in shared_sections().items())
    return before + "\n\n".join([BEGIN, *parts, END]) + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(make_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
