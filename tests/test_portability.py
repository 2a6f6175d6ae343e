"""Windows and macOS: nothing that only Linux has is needed to import the project, and texts are UTF-8 everywhere."""

import ast

import pytest

from aezsl.encoders.images.engine import available_cores
from aezsl.machine.provenance import Cost
from tests.helpers import ROOT

SOURCES = sorted((ROOT / "src/aezsl").rglob("*.py"))

#: What only Unix has.
MISSING = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}


def unguarded_imports(node):
    """Modules that are imported whatever the system: not below an ``if`` or a ``try``."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom):
            yield (inner.module or "").partition(".")[0]
        elif not isinstance(inner, ast.If | ast.Try):
            yield from unguarded_imports(inner)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_imported_that_only_unix_has(path):
    assert not MISSING & set(unguarded_imports(ast.parse(path.read_text(encoding="utf-8"))))


def test_cores_and_memory_are_measured_where_linux_does_not_tell_them(monkeypatch):
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert available_cores() >= 1
    with Cost("fit") as cost:
        pass
    assert cost.measured["fit_memory_mb"] >= 0


def calls(path):
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_texts_are_read_and_written_in_utf_8(path):
    """Without an encoding Windows takes that of its country; files of the kernel, below /proc, are plain ASCII."""
    for call in calls(path):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in ("read_text", "write_text"):
            assert any(word.arg == "encoding" for word in call.keywords) or "/proc/" in ast.unparse(call), ast.unparse(
                call
            )
