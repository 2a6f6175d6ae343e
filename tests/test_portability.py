"""Windows and macOS: nothing that only Linux has is needed to import the project, and texts are UTF-8 everywhere."""

import ast
import subprocess
import sys

import pytest

from tests.helpers import ROOT
from tests.helpers.projects import environment

SOURCES = sorted((ROOT / "src/aezsl").rglob("*.py"))

#: Imports every module while those that only Unix has cannot be imported by the project itself; libraries may, since
#: they come in builds of their own for each system.
IMPORT_ALL = """
import builtins, importlib, os, pkgutil
MISSING = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
plain = builtins.__import__
def import_(name, globals=None, *rest, **others):
    if (globals or {}).get("__name__", "").partition(".")[0] == "aezsl" and name.partition(".")[0] in MISSING:
        raise ImportError(f"{globals['__name__']} imports {name}, which Windows does not have")
    return plain(name, globals, *rest, **others)
builtins.__import__ = import_
import aezsl
for module in pkgutil.walk_packages(aezsl.__path__, "aezsl."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from aezsl.encoders.images.engine import available_cores
from aezsl.machine.provenance import Cost
del os.sched_getaffinity
assert available_cores() >= 1
with Cost("fit") as cost:
    pass
assert cost.measured["fit_memory_mb"] >= 0
"""


@pytest.mark.slow
def test_every_module_is_imported_where_only_linux_has_something():
    result = subprocess.run([sys.executable, "-c", IMPORT_ALL], env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]


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
