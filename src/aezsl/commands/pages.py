"""``python -m aezsl.commands.pages`` writes lists of parameters and pipelines, as the code has them, into the pages."""

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from aezsl.config.schema import shared_sections
from aezsl.kinds import Settings
from aezsl.pipeline_registry import ENTRIES


def described(kind: Any) -> str:
    """What a value may be, in a few words."""
    if get_origin(kind) is Annotated:
        kind, *limits = get_args(kind)
        return f"{described(kind)}{''.join(map(_limit, limits))}"
    if get_origin(kind) in (Union, types.UnionType):
        parts = {described(part) for part in get_args(kind)}  # their order depends on what was imported before
        return " or ".join(sorted(parts, key=lambda part: (part == "null", part)))
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
    meanings = section.meanings()
    for key, field in section.model_fields.items():
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        what = " ".join(meanings.get(key, "").split())
        lines.append(f"* `{key}` ({described(kind)}; default `{_yaml(field.default)}`): {what}")
    return "\n".join(lines)


def _yaml(value: Any) -> str:
    words = {None: "null", True: "true", False: "false"}
    return words[value] if isinstance(value, bool | None) else repr(value) if value == "" else str(value)


def parameters_page() -> str:
    """All sections that belong to no method."""
    return "\n\n".join(section_page(name, section) for name, section in shared_sections().items())


def pipelines_page() -> str:
    """A line per pipeline that is not one method's."""
    lines = [("`<method>`, `gzsl_<method>`", "one method from raw files to metrics; among seen and unseen classes")]
    lines += [(f"`{entry.name}`", entry.what) for entry in ENTRIES]
    return "\n".join(["| name | what it does |", "|---|---|", *(f"| {name} | {what} |" for name, what in lines)])


#: Page -> the name of the marks between which it is written, and what stands there.
PAGES = {"conf/README.md": ("parameters", parameters_page), "README.md": ("pipelines", pipelines_page)}


def with_list(page: str, text: str) -> str:
    """The text of a page with its list as the code is now."""
    mark, make = PAGES[page]
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, _, rest = text.partition(begin)
    return before + "\n\n".join([begin, make(), end]) + rest.partition(end)[2]


if __name__ == "__main__":
    for page in PAGES:
        Path(page).write_text(with_list(page, Path(page).read_text(encoding="utf-8")), encoding="utf-8")
