"""``kedro pipelines``: every pipeline with a line of what it does."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import click


def describe_pipelines() -> dict[str, str]:
    """Name -> what it does, methods first; ``gzsl_`` stands for the generalized setting of all of them."""
    from aezsl.methods import METHODS
    from aezsl.pipeline_registry import DEFAULT_METHOD, ENTRIES

    lines = {name: _plain(_first_line(entry.place)) for name, entry in METHODS.items()}
    lines[DEFAULT_METHOD] += " [what kedro run without a name runs]"
    others = {entry.name: entry.what for entry in ENTRIES}
    return {**lines, "gzsl_<method>": "the same among seen and unseen classes, with calibrated stacking", **others}


def _first_line(place: str) -> str:
    """Of a class's docstring, read off its file: to import every method there is takes seconds."""
    module, _, name = place.partition(":")
    spec = find_spec(f"aezsl.methods.{module}")
    tree = ast.parse(Path(spec.origin or "").read_text(encoding="utf-8")) if spec else ast.Module([], [])
    found = (part for part in tree.body if isinstance(part, ast.ClassDef) and part.name == name)
    return (ast.get_docstring(next(found)) or "").partition("\n")[0]


def _plain(text: str) -> str:
    """A line of a docstring without the marks of its formulas and code."""
    return re.sub(r":math:`\\?([^`]+)`", r"\1", text).replace("``", "")


@click.command()
def pipelines() -> None:
    """List pipelines, with a line of what each does."""
    lines = describe_pipelines()
    width = max(map(len, lines))
    for name, what in lines.items():
        click.echo(f"{name:<{width}}  {what}")
