"""Kedro's datasets of single files, as this project wants them.

They are written whole or not at all: a killed run leaves the old file or the new. Previews in kedro-viz are empty,
rather than errors, while nothing has been saved.
"""

from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any

import kedro_datasets.json
import kedro_datasets.pandas
import kedro_datasets.text
from kedro.io import DatasetError

from aezsl.errors import DataError, NotReadyError
from aezsl.machine.files import written_whole


def once_saved(preview: Callable[..., Any]) -> Callable[..., Any]:
    """The preview of what is there, None before; kedro-viz warns of every error, and most of a catalog is not made."""

    @wraps(preview)  # kedro-viz reads from its annotation what kind of preview it is
    def quiet(self: Any, *args: Any, **options: Any) -> Any:
        return preview(self, *args, **options) if self._exists() else None

    return quiet


class WrittenWhole:
    """Before a dataset among the parents of a class: what it saves takes its name when it is complete."""

    _filepath: PurePosixPath
    _protocol: str

    def load(self) -> Any:
        """What was saved; a sentence where nothing has been, or where it cannot be read any more."""
        path = Path(self._filepath)
        if self._protocol == "file" and not path.is_file():
            raise NotReadyError(
                f"{path} has not been made yet: run the stage before this one first, such as kedro run "
                "--pipeline=ingestion, or the whole road by the name of a method"
            )
        try:
            return super().load()  # type: ignore[misc]
        except DatasetError as error:
            reason = " ".join(str(error.__cause__ or error).split())
            raise DataError(
                f"{path} cannot be read ({reason}): delete it, and run the pipeline that makes it again"
            ) from error

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

    preview = once_saved(kedro_datasets.json.JSONDataset.preview)


class ParquetDataset(WrittenWhole, kedro_datasets.pandas.ParquetDataset):
    """As Kedro's, written whole."""

    preview = once_saved(kedro_datasets.pandas.ParquetDataset.preview)


class CSVDataset(WrittenWhole, kedro_datasets.pandas.CSVDataset):
    """As Kedro's, written whole."""

    preview = once_saved(kedro_datasets.pandas.CSVDataset.preview)


class TextDataset(WrittenWhole, kedro_datasets.text.TextDataset):
    """As Kedro's, written whole."""
