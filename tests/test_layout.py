"""How the tests themselves are written: what they share is in helpers, and what takes long is marked."""

import ast
from functools import cache

import pytest

from tests.helpers import ROOT


@cache
def trees():
    """Path -> parsed text of every file, read once, and not while tests are collected."""
    paths = (ROOT / "tests").rglob("*.py")
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imported(tree):
    """Every part of the dotted names that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from (part for name in names for part in name.split("."))


def test_no_file_imports_from_a_test_or_from_conftest():
    offenders = {
        file: names
        for file, tree in trees().items()
        if (names := [name for name in imported(tree) if name.startswith("test_") or name == "conftest"])
    }
    assert not offenders, "what several files need belongs into tests/helpers"


def is_marked_slow(node):
    return any("mark.slow" in ast.unparse(decorator) for decorator in node.decorator_list)


def starts_a_process(node):
    return any(isinstance(inner, ast.Name) and inner.id == "subprocess" for inner in ast.walk(node))


def reads_real_data(node):
    called = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(isinstance(function, ast.Name) and function.id == "reference" for function in called)


@pytest.mark.parametrize("takes_long", [starts_a_process, reads_real_data])
def test_what_takes_long_is_marked_slow(takes_long):
    """Tests that run commands in a project are marked by conftest; here is what others do that takes long."""
    offenders = [
        f"{file}::{node.name}"
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if "make_project" not in {argument.arg for argument in node.args.args}
        if takes_long(node) and not is_marked_slow(node)
    ]
    assert not offenders
