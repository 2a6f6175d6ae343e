"""A selection is taken over only while everything it depends on is the same."""

import shutil
from pathlib import Path

import pytest

import aezsl
from aezsl.selection import store


@pytest.mark.parametrize(
    "module", ["arrays.py", "methods/aezsl/solver.py", "methods/shared/simplex.py", "evaluation/metrics.py"]
)
def test_a_change_in_any_module_that_scores_depend_on_is_noticed(module, tmp_path, monkeypatch):
    copy = tmp_path / "aezsl"
    shutil.copytree(Path(aezsl.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(aezsl, "__file__", str(copy / "__init__.py"))
    before = store.code_digest.__wrapped__()
    (copy / "hooks.py").write_text("# nothing that scores depend on")
    assert store.code_digest.__wrapped__() == before
    with (copy / module).open("a") as file:
        file.write("# changed")
    assert store.code_digest.__wrapped__() != before
