"""Files of results: written whole, told where they are missing or damaged, shown where kedro-viz asks."""

import base64
import inspect
import json

import pandas as pd
import pytest
from kedro.io import DatasetError

from aezsl.datasets.files import FigureDataset, JSONDataset, ParquetDataset, TableDataset, TextDataset
from aezsl.hooks.crash import own_error
from aezsl.reporting.figures import new_figure
from tests.helpers import ROOT

TABLE = pd.DataFrame({"a": [1, 2], "b": ["x", "=y"]})
PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(
    ("kind", "name", "data"),
    [
        (JSONDataset, "x.json", {"a": 1}),
        (ParquetDataset, "x.parquet", TABLE),
        (TextDataset, "x.md", "text é"),
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
    ("kind", "name"), [(JSONDataset, "x.json"), (ParquetDataset, "x.parquet"), (TableDataset, "x.csv")]
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
    dataset = JSONDataset(filepath=str(tmp_path / "x.json"))
    dataset.save({"a": 1})
    with pytest.raises(DatasetError):
        dataset.save({"a": [1] * 100_000, "b": object()})  # it has begun to write when it comes to the object
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_no_entry_of_the_catalog_writes_in_place():
    for path in (ROOT / "conf").rglob("catalog*.yml"):
        types = [line.split("type:")[1].split()[0] for line in path.read_text().splitlines() if " type:" in line]
        assert not [kind for kind in types if kind.startswith(("json.", "pandas.", "text.", "matplotlib."))], path


def test_a_figure_becomes_a_picture_that_kedro_viz_can_show(tmp_path):
    dataset = FigureDataset(filepath=str(tmp_path / "new" / "figure.png"), save_args={"dpi": 20})
    assert not dataset.exists()
    with pytest.raises(DatasetError):
        dataset.load()
    dataset.save(new_figure(1, 1))
    assert dataset.exists()
    assert dataset.load().startswith(PNG)
    assert base64.b64decode(dataset.preview()).startswith(PNG)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["figure.png"]


@pytest.mark.parametrize(
    ("dataset", "value", "kind"),
    [
        (JSONDataset, {"a": 1}, "JSONPreview"),
        (FigureDataset, new_figure(1, 1), "ImagePreview"),
        (ParquetDataset, TABLE, "TablePreview"),
        (TableDataset, TABLE, "TablePreview"),
    ],
)
def test_a_preview_is_empty_until_something_is_saved(tmp_path, dataset, value, kind):
    entry = dataset(filepath=str(tmp_path / "file.png"))  # only a figure minds the ending
    annotation = inspect.signature(entry.preview).return_annotation
    assert getattr(annotation, "__name__", str(annotation)) == kind  # as kedro-viz asks
    assert entry.preview() is None
    entry.save(value)
    assert entry.preview()
