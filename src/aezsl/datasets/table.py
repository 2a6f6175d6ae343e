"""Tables of results as CSV files that a spreadsheet can open without computing what stands in them."""

import pandas as pd
from kedro_datasets.pandas import CSVDataset

from aezsl.data.spreadsheet import escape_formulas, unescape_formulas
from aezsl.datasets.previewed import once_saved


class TableDataset(CSVDataset):
    """As ``pandas.CSVDataset``, with an apostrophe before text that a spreadsheet would take for a formula."""

    preview = once_saved(CSVDataset.preview)

    def save(self, data: pd.DataFrame) -> None:
        """Write the table, made safe."""
        super().save(escape_formulas(data))

    def load(self) -> pd.DataFrame:
        """The table as it was saved."""
        return unescape_formulas(super().load())
