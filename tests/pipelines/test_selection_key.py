"""A selection is taken over only while everything it depends on is the same."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import aezsl
from aezsl.selection import store
from tests.helpers.problems import make_problem


@pytest.mark.parametrize(
    "module",
    [
        "arrays.py",
        "methods/aezsl/solver.py",
        "methods/shared/simplex.py",
        "evaluation/metrics.py",
        "machine/workers.py",
    ],
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


def test_test_images_do_not_matter_for_what_is_chosen():
    problem = make_problem("zsl")
    other = replace(problem, X_test=problem.X_test[::2], y_test=problem.y_test[::2])
    assert other.fingerprint != problem.fingerprint
    assert other.seen_fingerprint == problem.seen_fingerprint
    fewer = replace(problem, S_unseen=problem.S_unseen[:-1])  # the number of validation classes follows from theirs
    assert fewer.seen_fingerprint != problem.seen_fingerprint
    assert replace(problem, X_train=problem.X_train + 1).seen_fingerprint != problem.seen_fingerprint
