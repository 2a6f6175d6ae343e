"""Tables of results as CSV files that a spreadsheet can open without computing what stands in them."""

import pandas as pd

from aezsl.data.spreadsheet import escape_formulas, unescape_formulas
from aezsl.datasets.whole import CSVDataset


class TableDataset(CSVDataset):
    """As ``pandas.CSVDataset``, with an apostrophe before text that a spreadsheet would take for a formula."""

    def save(self, data: pd.DataFrame) -> None:
        """Write the table, made safe."""
        super().save(escape_formulas(data))

    def load(self) -> pd.DataFrame:
        """The table as it was saved."""
        return unescape_formulas(super().load())
