"""The table that describes classes, ``classes.csv``: names, roles, descriptions, attributes."""

import csv
import logging
import re
import unicodedata
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.data.benchmark import ROLES
from aezsl.errors import DataError
from aezsl.formats.reading import as_column, duplicates, first_few, reading

log = logging.getLogger(__name__)

#: Columns of classes.csv with a meaning of their own; every other column is an attribute.
TEXT_COLUMNS = ("description", "text")
PLAIN_COLUMNS = ("class_name", "role", "group", "wnid")
#: Headers of columns that count rows, in small letters: as attributes they would spoil every class vector.
ROW_NUMBERS = ("", "#", "id", "ids", "idx", "index", "level_0", "no", "no.", "nr", "number", "row", "class_id", "label")
#: Rows from which on a column of 0, 1, 2, ... or 1, 2, 3, ... is taken for row numbers, whatever it is called.
MANY_ROWS = 5
#: Attributes that the log names with their ranges.
SHOWN = 12


def read_class_table(path: Path, text: str | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The classes of a classes.csv (or of such a text, said to come from ``path``), and the names of its attributes.

    Columns: class_name, and of role, group, wnid, text and attributes those that the table has.
    """
    table = _parse(path, _read(path) if text is None else text)
    classes = table[[column for column in PLAIN_COLUMNS if column in table]].copy()
    texts, attributes = _texts(path, table), _attributes(path, table)
    if texts is not None:
        classes["text"] = texts
    if attributes is None:
        return classes, ()
    if text is None:
        ranges = [f"{name} {column.min():g} .. {column.max():g}" for name, column in attributes.items()]
        log.info("%s: attributes are %s", path, first_few(ranges, SHOWN))
    classes["attributes"] = as_column(attributes.to_numpy())
    return classes, tuple(attributes.columns)


def check_roles(path: Path, classes: pd.DataFrame) -> None:
    """Every class must be seen or unseen, and there must be some of both."""
    if "role" not in classes:
        raise DataError(f"{path} has no column role: say seen or unseen for every class")
    wrong = classes[~classes["role"].isin(ROLES)]
    if len(wrong):
        name, role = wrong.iloc[0][["class_name", "role"]]
        raise DataError(f"{path}: the role of {name!r} must be seen or unseen, got {role!r}")
    if classes["role"].nunique() < len(ROLES):
        raise DataError(f"{path}: all classes are {classes['role'].iloc[0]}; both seen and unseen ones are needed")


def composed(name: str) -> str:
    """One spelling of accented letters: some file systems store them as letter plus accent."""
    return unicodedata.normalize("NFC", name)


def _read(path: Path) -> str:
    if not path.is_file():
        raise DataError(f"{path} is not a file: it should be a table of classes, saved as CSV in UTF-8")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error}): save it as CSV in UTF-8, as spreadsheets offer") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}): make it readable") from error


def _parse(path: Path, text: str) -> pd.DataFrame:
    """The table as text, with its names made comparable to folder names."""
    with reading(path, "a table with a header"):
        header = next((line for line in text.splitlines() if line.strip()), "")
        # Spreadsheets of half the world write semicolons.
        separator = next((mark for mark in (";", "\t") if mark in header and "," not in header), ",")
        rows = csv.reader(StringIO(text.lstrip()), delimiter=separator)
        columns = [composed(column.strip()) for column in next(rows, [])]
        _check_header(path, columns)
        table = pd.read_csv(StringIO(text), sep=separator, dtype=str, keep_default_na=False, na_filter=False)
    if len(table.index) == 0 or not isinstance(table.index, pd.RangeIndex) or len(columns) != len(table.columns):
        raise DataError(f"{path}: expected one line per class with as many fields as the header; quote commas")
    table.columns = columns
    table = table.map(str.strip)
    table["class_name"] = table["class_name"].map(composed)
    names = list(table["class_name"])
    if repeated := duplicates(names):
        raise DataError(f"{path} describes {first_few(repeated)} more than once")
    if "" in names:
        raise DataError(f"{path}, line {names.index('') + 2}: the class_name is empty")
    if "role" in table:
        table["role"] = table["role"].str.lower()
    return table


def _check_header(path: Path, columns: list[str]) -> None:
    if columns and "class_name" not in columns:
        raise DataError(f"{path} has no column class_name; it has {', '.join(columns)}")
    if repeated := duplicates(columns):
        raise DataError(f"{path} has the column {repeated[0]!r} more than once: keep one of them, or rename the others")
    if alike := duplicates([column.casefold() for column in columns]):
        both = " and ".join(repr(column) for column in columns if column.casefold() == alike[0])
        raise DataError(f"{path} has the columns {both}, which differ in capital letters only: keep one, or rename one")
    for column in columns:
        number = re.fullmatch(r"(.+)\.\d+", column)
        if number and number[1] in columns:
            raise DataError(
                f"{path}: the column {column!r} looks like a repetition of {number[1]!r}: delete it, or rename it"
            )
        if column.lower() in ROW_NUMBERS or re.fullmatch(r"Unnamed: \d+(_level_\d+)?", column):
            raise DataError(_counts_rows(path, column))


def _counts_rows(path: Path, column: str) -> str:
    what = f"the column {column!r}" if column else "a column without a name"
    return (
        f"{path}: {what} counts rows and would be taken for an attribute: delete it (pandas leaves it out by "
        "to_csv(index=False)), or give it another name if it does describe the classes"
    )


def _texts(path: Path, table: pd.DataFrame) -> list[str] | None:
    columns = [column for column in TEXT_COLUMNS if column in table]
    if len(columns) > 1:
        raise DataError(f"{path} has both {' and '.join(columns)}: keep one")
    if not columns:
        return None
    texts = list(table[columns[0]])
    if missing := [name for name, text in zip(table["class_name"], texts, strict=True) if not text]:
        raise DataError(f"{path}: no {columns[0]} of {first_few(missing)}")
    return texts


def _attributes(path: Path, table: pd.DataFrame) -> pd.DataFrame | None:
    columns = [column for column in table if column not in (*PLAIN_COLUMNS, *TEXT_COLUMNS)]
    if not columns:
        return None
    numbers = pd.DataFrame({column: pd.to_numeric(table[column], errors="coerce") for column in columns})
    values = numbers.to_numpy(np.float64)

    def refuse(wrong: np.ndarray, must: str) -> None:
        if len(wrong):
            row, column = wrong[0]
            raise DataError(
                f"{path}: attribute {columns[column]!r} of {table['class_name'].iloc[row]!r} must be {must}, got "
                f"{table[columns[column]].iloc[row]!r}; text belongs in a column named description"
            )

    refuse(np.argwhere(~np.isfinite(values)), "a number")
    with np.errstate(over="ignore", under="ignore"):
        stored = values.astype(np.float32)  # as class vectors are
    refuse(np.argwhere(~np.isfinite(stored) | ((stored == 0) & (values != 0))), "0 or of size 1e-38 to 3e38")
    if len(values) >= MANY_ROWS:
        counted = np.arange(len(values))[:, None]
        for start in (0, 1):
            if len(like := np.flatnonzero((values == counted + start).all(axis=0))):
                raise DataError(_counts_rows(path, columns[like[0]]))
    return pd.DataFrame(stored, columns=columns)
