"""The page of the methods: its table follows from the registry, and its example runs."""

import re

import numpy as np
import pytest

from aezsl.methods import METHODS
from aezsl.methods.table import README, make_table, with_table
from tests.synthetic import make_synthetic

PAGE = README.read_text(encoding="utf-8")


def test_the_page_is_current():
    assert with_table(PAGE) == PAGE, "run python -m aezsl.methods.table"


def test_a_method_is_a_line_of_the_table():
    lines = [line.strip("|").split(" | ") for line in make_table().splitlines() if line.startswith("| `")]
    assert [line[0].strip(" `") for line in lines] == list(METHODS)
    refined = lines[list(METHODS).index("aezsl_lr")]
    assert [cell.strip() for cell in refined[3:5]] == ["statistics, pool, `aezsl`", ""]
    assert refined[2].startswith("AEZSL, then progressive label refinement")


def test_formulas_and_bars_survive_in_a_cell(monkeypatch):
    monkeypatch.setattr(METHODS["eszsl"].load(), "__doc__", r"With :math:`\lambda = 0`, ``W`` and a|b." "\n\nMore.")
    assert r"| With $\lambda = 0$, `W` and a\|b. |" in make_table()


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError):
        with_table("# Methods\n")


def test_the_example_runs():
    data = make_synthetic()
    code, photos = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    names = {"X": data.X, "y": data.y, "S": data.S, "X_new": data.X_new, "S_target": data.S_new}
    exec(code, names)
    compile(photos, "photos", "exec")  # it runs with real features: tests/methods/test_heads.py
    np.testing.assert_array_equal(names["labels"], (data.X_new @ names["P"]).argmax(axis=1))
    assert names["ranking"].classes.shape == (len(data.X_new), 5)
