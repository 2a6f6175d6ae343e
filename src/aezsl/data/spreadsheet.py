"""Text of users in tables that others open: a name must not become a formula of a spreadsheet, nor HTML of a page."""

import html
import re
from typing import Any

import pandas as pd

#: A cell that begins with one of these is a formula for a spreadsheet; the apostrophe marks a cell as text.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide ones too


def escaped(text: str) -> str:
    """The text of a cell, with an apostrophe before it where a spreadsheet would compute it, or a part of it.

    A spreadsheet may split a cell at commas, semicolons and tabs, whatever the file's own separator is.
    """
    parts = re.split(r"[,;\t]", text)
    return f"'{text}" if any(part.lstrip(" ").startswith(FORMULA) for part in [text, *parts]) else text


def unescaped(text: str) -> str:
    """What ``escaped`` was given."""
    return text[1:] if text[:1] == "'" and escaped(text[1:]) == text else text


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
