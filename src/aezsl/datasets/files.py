"""Single files as catalog entries: JSON, Parquet, CSV, text, figures. They are written whole or not at all."""

from base64 import b64encode
from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import kedro_datasets.json
import kedro_datasets.pandas
import kedro_datasets.text
import pandas as pd
from kedro.io import AbstractDataset, CatalogProtocol, DatasetError
from kedro_datasets._typing import ImagePreview

from aezsl.data.spreadsheet import escape_formulas, unescape_formulas
from aezsl.errors import DataError, NotReadyError
from aezsl.machine.files import storage_error, written_whole


def dataset_path(catalog: CatalogProtocol[Any, Any], name: str) -> Path:
    """Where a dataset lies. Kedro's datasets keep it as ``_filepath``, and have no public name for it."""
    return Path(catalog.get(name)._filepath)  # type: ignore[union-attr]


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
                "--pipeline=ingestion, or the pipeline of a method, which has all stages"
            )
        try:
            return super().load()  # type: ignore[misc]
        except DatasetError as error:
            if isinstance(error.__cause__, OSError) and (told := storage_error(error.__cause__)):
                raise told from error  # of the disk: the file may be whole
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


class TableDataset(CSVDataset):
    """As ``pandas.CSVDataset``, with an apostrophe before text that a spreadsheet would take for a formula."""

    def save(self, data: pd.DataFrame) -> None:
        """Write the table, made safe."""
        super().save(escape_formulas(data))

    def load(self) -> pd.DataFrame:
        """The table as it was saved."""
        return unescape_formulas(super().load())


if TYPE_CHECKING:  # every run has entries of figures, and a run that draws none should not wait for matplotlib
    from matplotlib.figure import Figure


class FigureDataset(AbstractDataset["Figure", bytes]):
    """A picture of a matplotlib figure, written whole or not at all; kedro-viz shows it. Loads the file's content."""

    def __init__(
        self, *, filepath: str, save_args: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self._filepath = Path(filepath)
        self._save_args = save_args or {}
        self.metadata = metadata

    def save(self, data: "Figure") -> None:
        """Draw the figure."""
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self._filepath, self._filepath.suffix) as path:
            data.savefig(path, **self._save_args)

    def load(self) -> bytes:
        """The picture."""
        if not self._filepath.is_file():
            raise NotReadyError(f"no picture at {self._filepath}: run the pipeline that draws it")
        return self._filepath.read_bytes()

    @once_saved
    def preview(self) -> ImagePreview:
        """The picture for kedro-viz."""
        return ImagePreview(b64encode(self.load()).decode())

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "save_args": self._save_args}
