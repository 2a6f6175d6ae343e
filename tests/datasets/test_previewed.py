"""Previews of kedro-viz: of what has been saved, and none without a word before."""

import inspect

import pandas as pd
import pytest
from matplotlib.figure import Figure

from aezsl.datasets.table import TableDataset
from aezsl.datasets.whole import JSONDataset, MatplotlibDataset, ParquetDataset

TABLE = pd.DataFrame({"a": [1, 2]})


@pytest.mark.parametrize(
    ("dataset", "value", "kind"),
    [
        (JSONDataset, {"a": 1}, "JSONPreview"),
        (MatplotlibDataset, Figure(), "ImagePreview"),
        (ParquetDataset, TABLE, "TablePreview"),
        (TableDataset, TABLE, "TablePreview"),
    ],
)
def test_a_preview_is_empty_until_something_is_saved(tmp_path, dataset, value, kind):
    entry = dataset(filepath=str(tmp_path / "file"))
    assert str(inspect.signature(entry.preview).return_annotation) == kind  # as kedro-viz asks
    assert entry.preview() is None
    entry.save(value)
    assert entry.preview()
