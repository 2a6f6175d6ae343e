"""Windows and macOS: nothing that only Linux has is needed to import the project, and texts are UTF-8 everywhere."""

import ast
from functools import cache

from aezsl.encoders.images.engine import available_cores
from aezsl.machine.provenance import Cost
from tests.helpers import ROOT

#: What only Unix has.
MISSING = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}


@cache
def trees():
    """Path -> parsed text of every module, read once, and not while tests are collected."""
    paths = sorted((ROOT / "src/aezsl").rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def unguarded_imports(node):
    """Modules that are imported whatever the system: not below an ``if`` or a ``try``."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom):
            yield (inner.module or "").partition(".")[0]
        elif not isinstance(inner, ast.If | ast.Try):
            yield from unguarded_imports(inner)


def test_nothing_is_imported_that_only_unix_has():
    imported = {path: MISSING & set(unguarded_imports(tree)) for path, tree in trees().items()}
    assert {path: modules for path, modules in imported.items() if modules} == {}


def test_cores_and_memory_are_measured_where_linux_does_not_tell_them(monkeypatch):
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert available_cores() >= 1
    with Cost("fit") as cost:
        pass
    assert "fit_memory_mb" in cost.measured


def texts_without_encoding(tree):
    """Calls that read or write a text in whichever encoding the system has; files below /proc are plain ASCII."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in ("read_text", "write_text") and not any(word.arg == "encoding" for word in call.keywords):
            yield ast.unparse(call)


def test_texts_are_read_and_written_in_utf_8():
    """Without an encoding Windows takes that of its country."""
    found = [(path, call) for path, tree in trees().items() for call in texts_without_encoding(tree)]
    assert [(path, call) for path, call in found if "/proc/" not in call] == []
