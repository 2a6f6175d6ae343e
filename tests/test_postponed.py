"""Modules that wait to be used."""

import inspect
import sys
from threading import Barrier, Thread

import pytest

from aezsl.machine import postponed

BODY = """
from builtins import started_list as started
import time
started.append(__name__)
time.sleep(0.05)
from {package} import part  # a package asks for itself while it runs
value = part.value
"""


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """A package that waits, and a list that says when its code has run."""
    name = f"waits_{tmp_path.name.replace('-', '_')}"
    started = []
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(BODY.format(package=name))
    (tmp_path / name / "part.py").write_text("value = 7\n")
    monkeypatch.setattr("builtins.started_list", started, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [postponed._Finder([name]), *sys.meta_path])
    yield name, started
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        del sys.modules[known]


def test_a_module_is_loaded_when_something_of_it_is_used(waiting):
    name, started = waiting
    module = __import__(name)
    inspect.stack()  # which asks all modules where they lie
    assert __import__(name) is module
    assert started == []
    assert module.value == 7
    assert started == [name]
    assert type(module) is type(sys)


def test_a_part_of_it_can_be_imported_first(waiting):
    name, started = waiting
    __import__(name)
    assert sys.modules[name] is __import__(f"{name}.part")
    assert started == [name]


def test_threads_wait_for_the_one_that_loads(waiting):
    name, started = waiting
    module, together, seen = __import__(name), Barrier(4), []

    def ask():
        together.wait()
        seen.append(module.value)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [7] * 4
    assert started == [name]


def test_nobody_sits_at_a_notebook_that_is_not_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with postponed.outside_of_notebooks(), pytest.raises(ImportError):
        __import__("IPython")
    assert "IPython" not in sys.modules


def test_a_notebook_that_is_there_stays(monkeypatch):
    shell = object()
    monkeypatch.setitem(sys.modules, "IPython", shell)
    with postponed.outside_of_notebooks():
        assert sys.modules["IPython"] is shell
    assert sys.modules["IPython"] is shell
