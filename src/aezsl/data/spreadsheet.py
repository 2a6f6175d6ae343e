"""Text of users in tables that others open: a name must not become a formula of a spreadsheet, nor HTML of a page."""

import html
import re
from typing import Any

import pandas as pd

#: A cell that begins with one of these is a formula for a spreadsheet; the apostrophe marks a cell as text.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide ones too


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before text that a spreadsheet would compute; numbers stay as they are."""
    return _mapped(table, lambda text: f"'{text}" if text.startswith(FORMULA) else text)


def unescape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """What ``escape_formulas`` was given."""
    return _mapped(table, lambda text: text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text)


def markdown_cell(text: str) -> str:
    """Text that a Markdown table shows as it is: no HTML, no link, no column or line of its own."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(text, quote=False)).replace("\r", " ").replace("\n", " ")


def _mapped(table: pd.DataFrame, change: Any) -> pd.DataFrame:
    changed = table.copy()
    changed.columns = pd.Index([change(str(column)) for column in table.columns])
    for number, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            values = [change(value) if isinstance(value, str) else value for value in table.iloc[:, number]]
            changed.isetitem(number, values)
    return changed
