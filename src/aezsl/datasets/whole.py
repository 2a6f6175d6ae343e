"""Kedro's datasets of single files, written whole or not at all: a killed run leaves the old file or the new."""

from copy import copy
from pathlib import Path, PurePosixPath
from typing import Any

import kedro_datasets.json
import kedro_datasets.matplotlib
import kedro_datasets.pandas
import kedro_datasets.text

from aezsl.machine.files import written_whole


class WrittenWhole:
    """Before a dataset among the parents of a class: what it saves takes its name when it is complete."""

    _filepath: PurePosixPath
    _protocol: str

    def save(self, data: Any) -> None:
        """Write beside the place, then rename; elsewhere than on a disk as the dataset does it."""
        if self._protocol != "file":
            super().save(data)  # type: ignore[misc]
            return
        path = Path(self._filepath)
        with written_whole(path, path.suffix) as temporary:
            twin = copy(self)
            twin._filepath = PurePosixPath(temporary.as_posix())
            super(WrittenWhole, twin).save(data)  # type: ignore[misc]


class JSONDataset(WrittenWhole, kedro_datasets.json.JSONDataset):
    """As Kedro's, written whole."""


class ParquetDataset(WrittenWhole, kedro_datasets.pandas.ParquetDataset):
    """As Kedro's, written whole."""


class CSVDataset(WrittenWhole, kedro_datasets.pandas.CSVDataset):
    """As Kedro's, written whole."""


class TextDataset(WrittenWhole, kedro_datasets.text.TextDataset):
    """As Kedro's, written whole."""


class MatplotlibDataset(WrittenWhole, kedro_datasets.matplotlib.MatplotlibDataset):
    """As Kedro's, written whole."""
