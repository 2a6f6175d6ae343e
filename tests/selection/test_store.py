"""What is kept of a selection: taken over as it was written, or made again."""

import pandas as pd
import pytest

import aezsl
from aezsl.selection import SelectionStore
from aezsl.selection.store import CODE
from tests.helpers import ROOT

TABLE = pd.DataFrame({"key": "k", "point": [1, 0], "lam": [0.1, 1e-7], "mean": [0.75, float("nan")]})


@pytest.fixture
def store(tmp_path):
    store = SelectionStore(tmp_path / "selection.csv")
    store.save(TABLE)
    return store


def test_a_table_is_found_as_it_was_saved(store):
    pd.testing.assert_frame_equal(store.find("k", 2), TABLE)
    assert store.find("other", 2) is None
    assert store.find("k", 1) is None  # it has no point 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.75", "0.76"),
        ("0.1", "0.2"),
        (",0,", ",0,0"),
        ("sha256-", ""),
        ("digest", "other"),
        ("k,", "kk,"),
        ("\n", ""),
    ],
)
def test_a_table_in_which_anything_was_changed_is_made_again(store, caplog, old, new):
    text = store.path.read_text()
    assert old in text
    store.path.write_text(text.replace(old, new, 1))
    assert store.find("k", 2) is None
    assert "made again" in caplog.text or old == "k,"


def test_all_code_that_scores_depend_on_is_there():
    root = ROOT / "src" / aezsl.__name__
    assert all((root / part).exists() for part in CODE)
