"""The notebooks run from top to bottom, and are stored without output."""

import pytest

from tests.helpers.notebooks import NOTEBOOKS, run_notebook


@pytest.mark.slow  # a kernel is a process of its own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    text, pictures = run_notebook(path, tmp_path)  # an empty folder: a newcomer has no results yet
    assert "accuracy on unseen classes" in text
    assert pictures == 4
