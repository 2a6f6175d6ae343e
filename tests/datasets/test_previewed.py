"""Previews of kedro-viz: of what has been saved, and none without a word before."""

import inspect

import pandas as pd
import pytest

from aezsl.datasets.files import FigureDataset, JSONDataset, ParquetDataset, TableDataset
from aezsl.reporting.figures import new_figure

TABLE = pd.DataFrame({"a": [1, 2]})


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
