"""Text of users in tables that others open: a name must not become a formula of a spreadsheet, nor HTML of a page."""

import html
import re
from typing import Any

import pandas as pd

#: What a formula of a spreadsheet begins with, wide letters too; an apostrophe marks a cell as text.
FORMULA = "=+\\-@'\uff1d\uff0b\uff0d\uff20"
#: Where a cell may begin: a spreadsheet may split at these, whatever the file's own separator is, and pass over others.
BEGINNING = r"(?:^|[,;\t\r\n])[\s\"\u200b\ufeff]*"
_FORMULA = re.compile(f"({BEGINNING})(?=[{FORMULA}])")
_ESCAPED = re.compile(f"({BEGINNING})'(?=[{FORMULA}])")


def escaped(text: str) -> str:
    """The text of a cell, with an apostrophe before everything in it that a spreadsheet would compute."""
    return _FORMULA.sub(r"\1'", text)


def unescaped(text: str) -> str:
    """What ``escaped`` was given."""
    return _ESCAPED.sub(r"\1", text)


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before text that a spreadsheet would compute; numbers stay as they are."""
    return _mapped(table, escaped)


def unescape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """What ``escape_formulas`` was given."""
    return _mapped(table, unescaped)


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
