"""Files of Kedro's datasets: the old one or the new one, never a part."""

import json

import pandas as pd
import pytest
from kedro.io import DatasetError

from aezsl.datasets import files as whole
from aezsl.datasets.files import TableDataset
from aezsl.hooks.crash import own_error
from tests.helpers import ROOT

TABLE = pd.DataFrame({"a": [1, 2], "b": ["x", "=y"]})


@pytest.mark.parametrize(
    ("kind", "name", "data"),
    [
        (whole.JSONDataset, "x.json", {"a": 1}),
        (whole.ParquetDataset, "x.parquet", TABLE),
        (whole.TextDataset, "x.md", "text é"),
        (TableDataset, "x.csv", TABLE),
    ],
)
def test_what_is_saved_is_loaded_and_nothing_else_is_left(kind, name, data, tmp_path):
    dataset = kind(filepath=str(tmp_path / "new" / name))
    dataset.save(data)
    found = dataset.load()
    assert found.equals(data) if isinstance(data, pd.DataFrame) else found == data
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


@pytest.mark.parametrize(
    ("kind", "name"), [(whole.JSONDataset, "x.json"), (whole.ParquetDataset, "x.parquet"), (TableDataset, "x.csv")]
)
def test_what_is_not_there_or_damaged_is_told_in_a_sentence(kind, name, tmp_path):
    dataset = kind(filepath=str(tmp_path / name))
    with pytest.raises(DatasetError) as missing:
        dataset.load()
    assert name in str(own_error(missing.value))
    (tmp_path / name).write_bytes(b"\xff\xfe{")
    with pytest.raises(DatasetError) as damaged:
        dataset.load()
    assert name in str(own_error(damaged.value))


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    dataset = whole.JSONDataset(filepath=str(tmp_path / "x.json"))
    dataset.save({"a": 1})
    with pytest.raises(DatasetError):
        dataset.save({"a": [1] * 100_000, "b": object()})  # it has begun to write when it comes to the object
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_no_entry_of_the_catalog_writes_in_place():
    for path in (ROOT / "conf").rglob("catalog*.yml"):
        types = [line.split("type:")[1].split()[0] for line in path.read_text().splitlines() if " type:" in line]
        assert not [kind for kind in types if kind.startswith(("json.", "pandas.", "text.", "matplotlib."))], path
