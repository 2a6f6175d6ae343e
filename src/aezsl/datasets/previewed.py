"""Kedro's datasets with previews in kedro-viz that are empty, rather than errors, while nothing has been saved."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from kedro_datasets import json, matplotlib, pandas


def once_saved(preview: Callable[..., Any]) -> Callable[..., Any]:
    """The preview of what is there, None before; kedro-viz warns of every error, and most of a catalog is not made."""

    @wraps(preview)  # kedro-viz reads from its annotation what kind of preview it is
    def quiet(self: Any, *args: Any, **options: Any) -> Any:
        return preview(self, *args, **options) if self._exists() else None

    return quiet


class JSONDataset(json.JSONDataset):
    """As Kedro's."""

    preview = once_saved(json.JSONDataset.preview)


class MatplotlibDataset(matplotlib.MatplotlibDataset):
    """As Kedro's."""

    preview = once_saved(matplotlib.MatplotlibDataset.preview)


class ParquetDataset(pandas.ParquetDataset):
    """As Kedro's."""

    preview = once_saved(pandas.ParquetDataset.preview)
