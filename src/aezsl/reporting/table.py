"""One table, for the page and for files."""

from dataclasses import dataclass, field

import pandas as pd

from aezsl.data.spreadsheet import escape_formulas
from aezsl.reporting.comparison import to_markdown


@dataclass(frozen=True)
class Table:
    """A table for the page and for files. Files hold all; the page folds rows of what was not run."""

    title: str
    note: str
    frame: pd.DataFrame
    labels: dict[str, str]  # of the columns that the page shows
    bar: str = ""  # the column drawn as a bar behind its numbers
    intervals: dict[str, tuple[str, str]] = field(default_factory=dict)  # column -> those of the ends of its interval

    @property
    def filled(self) -> dict[str, str]:
        """The labels of the columns that have anything in them, among what was run."""
        return _filled(self.ran, self.labels)

    @property
    def filled_others(self) -> dict[str, str]:
        """The same among what was not."""
        return _filled(self.others, self.labels)

    @property
    def ran(self) -> pd.DataFrame:
        """The rows that were measured here."""
        return self.frame[self._measured]

    @property
    def others(self) -> pd.DataFrame:
        """The rows that were not."""
        return self.frame[~self._measured]

    @property
    def _measured(self) -> pd.Series:
        state = self.frame.get("state", pd.Series("run", index=self.frame.index, dtype=object))
        return state.str.startswith("run").astype(bool)


def _filled(frame: pd.DataFrame, labels: dict[str, str]) -> dict[str, str]:
    empty = frame.isna() | (frame == "")
    return {column: label for column, label in labels.items() if not empty[column].all()}


def write_tables(tables: dict[str, Table]) -> dict[str, str]:
    """Every table as CSV and as Markdown, by file name."""
    files = {}
    for key, table in tables.items():
        files[f"{key}.csv"] = escape_formulas(table.frame).to_csv(index=False)
        files[f"{key}.md"] = f"# {table.title}\n\n{to_markdown(table.frame)}\n\n{table.note}\n"
    return files
