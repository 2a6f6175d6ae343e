"""A table that a former run may have left."""

from pathlib import Path
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset, DatasetError


class OptionalTableDataset(AbstractDataset[None, pd.DataFrame]):
    """A CSV file that is read if it is there; an empty table if not. Only read: another entry writes it."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def load(self) -> pd.DataFrame:
        """The table, numbers exactly as they were written."""
        try:
            return pd.read_csv(self._filepath, float_precision="round_trip")
        except (FileNotFoundError, pd.errors.EmptyDataError):
            return pd.DataFrame()

    def save(self, data: None) -> None:
        """Refuse: the table is written through the entry that owns it."""
        raise DatasetError("an optional table is only read")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
