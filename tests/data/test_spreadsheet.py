import csv

import pandas as pd
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from aezsl.data.spreadsheet import escape_formulas, escaped, markdown_cell, unescape_formulas, unescaped
from aezsl.datasets.files import TableDataset
from tests.helpers import ROOT

CATALOG = ROOT / "conf/base/catalog_07_model_output.yml"
TABLE = pd.DataFrame(
    {
        "class_name": ["cat", '=HYPERLINK("x")', "@a", "-1+2", "'quoted", None, "\uff1d1"],
        "accuracy": [0.5, -1.0, 1, 2, 3, 4, 5],
    }
)


def test_names_do_not_become_formulas_and_come_back(tmp_path):
    dataset = TableDataset(filepath=str(tmp_path / "t.csv"), save_args={"index": False})
    dataset.save(TABLE)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert not [line for line in lines if line.lstrip('"').startswith(("=", "@", "-", "+"))]
    assert lines[2].endswith(",-1.0")  # a number is a number
    pd.testing.assert_frame_equal(dataset.load(), TABLE, check_dtype=False)


def test_excel_knows_the_letters_of_predicted_names(tmp_path):
    entry = yaml.safe_load(CATALOG.read_text(encoding="utf-8"))["new_predictions_table"]
    dataset = TableDataset(filepath=str(tmp_path / "t.csv"), save_args=entry["save_args"], fs_args=entry["fs_args"])
    names = pd.DataFrame({"image": ["Möwe.jpg"], "name": ["Möwe"]})
    dataset.save(names)
    assert (tmp_path / "t.csv").read_bytes().startswith(b"\xef\xbb\xbfimage,name")
    pd.testing.assert_frame_equal(dataset.load(), names, check_dtype=False)


def test_escaping_is_undone_exactly():
    pd.testing.assert_frame_equal(unescape_formulas(escape_formulas(TABLE)), TABLE, check_dtype=False)


@given(st.text(alphabet="=+-@'a ,;\t\r\n\"\u200b\uff1d", max_size=12), st.sampled_from(",;\t"))
@example("a;=1+1", ";")
@example('a;"=1', ";")
@example("a\n=1", ",")
def test_wherever_a_spreadsheet_splits_no_cell_is_a_formula(text, separator):
    assert unescaped(escaped(text)) == text
    written = pd.DataFrame({"image": ["a.jpg"], "name": [escaped(text)], "share": [0.5]}).to_csv(index=False)
    for line in csv.reader(written.splitlines(), delimiter=separator):
        for cell in line:
            assert not cell.strip(' \t\r\n"\u200b').startswith(("=", "+", "-", "@", "\uff1d")), written


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("a|b", "a\\|b"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("two\nlines", "two lines"),
        ("plain name", "plain name"),
    ],
)
def test_names_do_not_become_html_or_links(name, shown):
    assert markdown_cell(name) == shown
