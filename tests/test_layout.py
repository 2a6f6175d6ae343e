"""How the tests themselves are written: what they share is in helpers, and what takes long is marked."""

import ast

from tests.helpers import ROOT

TREES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*.py")
}


def imported(tree):
    """Every part of the dotted names that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from (part for name in names for part in name.split("."))


def test_no_file_imports_from_a_test_or_from_conftest():
    offenders = {
        file: names
        for file, tree in TREES.items()
        if (names := [name for name in imported(tree) if name.startswith("test_") or name == "conftest"])
    }
    assert not offenders, "what several files need belongs into tests/helpers"


def is_marked_slow(node):
    return any("mark.slow" in ast.unparse(decorator) for decorator in node.decorator_list)


def starts_a_process(node):
    return any(isinstance(inner, ast.Name) and inner.id == "subprocess" for inner in ast.walk(node))


def test_whatever_starts_a_process_itself_is_marked_slow():
    """Tests that run commands in a project are marked by conftest; here are those that start a process themselves."""
    offenders = [
        f"{file}::{node.name}"
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if starts_a_process(node) and not is_marked_slow(node)
    ]
    assert not offenders
