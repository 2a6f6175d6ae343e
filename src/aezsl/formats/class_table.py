"""The table that describes classes, ``classes.csv``: names, roles, descriptions, attributes."""

import csv
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.benchmark import ROLES
from aezsl.errors import DataError
from aezsl.formats.names import (
    CONTROLS,
    LONGEST_CLASS_NAME,
    LONGEST_TEXT,
    SIGNS,
    alike_as,
    check_text,
    composed,
    duplicates,
    is_written,
)
from aezsl.formats.reading import as_column, first_few, reading

log = logging.getLogger(__name__)

#: Columns of classes.csv with a meaning of their own; every other column is an attribute.
TEXT_COLUMNS = ("description", "text")
PLAIN_COLUMNS = ("class_name", "role", "group", "wnid")
#: Headers of columns that count rows or name them by numbers, in small letters without spaces and signs: as attributes
#: they would spoil every class vector.
ROW_NUMBERS = re.compile(
    r"|ids?|uu?id|idx|index|no|nr|nº|n°|№|num|number|sl?no|lfdnr|serial|key|rows?|row(id|number|names)|target|labels?|"
    r"(class|label)(id|idx|index|no|nr|number)|(index)?level\d"
)
#: The last word of headers that may do so, such as species_id: they do where all values of many are whole and none is
#: twice.
NUMBERING = re.compile(r"(.*[^a-z])?(id|idx|index|no|nr|num|number)", re.IGNORECASE)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: Many rows: from here on a column that goes up, or down, by one is taken for row numbers, whatever it is called.
MANY_ROWS = 5
#: What stands between the fields of a line: spreadsheets of half the world write semicolons.
SEPARATORS = (",", ";", "\t")
SAVE_AGAIN = "save it again as CSV in UTF-8, texts with commas or line ends in double quotes"
#: What a description begins with that nobody has read yet.
DRAFT = "DRAFT: "
SHOWN_OF_TEXT = 40
#: Attributes that the log names with their ranges.
SHOWN = 12


def read_class_table(path: Path, text: str | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The classes of a classes.csv (or of such a text, said to come from ``path``), and the names of its attributes.

    Columns: class_name, and of role, group, wnid, text and attributes those that the table has.
    """
    classes, attributes = _described(path, _parse(path, file_text(path) if text is None else text))
    if attributes is None:
        return classes, ()
    if text is None:
        _warn_of_odd(path, attributes)
        ranges = [f"{name} {column.min():g} .. {column.max():g}" for name, column in attributes.items()]
        log.info("%s: attributes are %s", path, first_few(ranges, SHOWN))
    return classes, tuple(attributes.columns)


def table_of_rows(source: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """As ``read_class_table``, of rows that have the same entries: texts and, for attributes, numbers."""
    columns = [composed(str(column).strip()) for column in rows[0]]
    _check_header(source, columns)
    texts = {*PLAIN_COLUMNS, *TEXT_COLUMNS}
    values = {
        column: [str(row[key]).strip() if column in texts else row[key] for row in rows]
        for column, key in zip(columns, rows[0], strict=True)
    }
    for column in columns:
        check_text(source, f"the column {column[:SHOWN_OF_TEXT]!r}", column, LONGEST_CLASS_NAME)
    _check_class_names(source, values["class_name"])
    for column in texts & values.keys():
        for name, text in zip(values["class_name"], values[column], strict=True):
            check_text(source, f"the {column} of {name!r}", text, LONGEST_TEXT, CONTROLS)
    classes, attributes = _described(source, _checked(source, pd.DataFrame(values, dtype=object)))
    return classes, () if attributes is None else tuple(attributes.columns)


def _described(path: Path, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """The classes with what describes them, and the attributes by name."""
    classes = table[[column for column in PLAIN_COLUMNS if column in table]].copy()
    texts, attributes = _texts(path, table), _attributes(path, table)
    plain = list(map(alike_as, texts or ()))
    if attributes is None and (same := duplicates(plain)):
        both = " and ".join(
            repr(name) for name, text in zip(classes["class_name"], plain, strict=True) if text == same[0]
        )
        raise DataError(f"{path} says the same of {both}, so that nothing tells one from another: describe them apart")
    if texts is not None:
        classes["text"] = texts
    if attributes is not None:
        classes["attributes"] = as_column(attributes.to_numpy())
    return classes, attributes


def check_roles(path: Path, classes: pd.DataFrame) -> None:
    """Every class must be seen or unseen, and some must be unseen."""
    if "role" not in classes:
        raise DataError(f"{path} has no column role: say seen or unseen for every class")
    wrong = classes[~classes["role"].isin(ROLES)]
    if len(wrong):
        name, role = wrong.iloc[0][["class_name", "role"]]
        raise DataError(f"{path}: the role of {name!r} must be seen or unseen, got {role!r}")
    if not classes["role"].eq("unseen").any():
        raise DataError(f"{path}: all classes are seen; unseen ones are needed, too")


def file_text(path: Path) -> str:
    """What a file written by people says."""
    if not path.is_file():
        raise DataError(f"{path} is not a file: it should be a table of classes, or a list of labels, saved in UTF-8")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error}): save it in UTF-8, as spreadsheets offer it for CSV") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}): make it readable") from error


def _parse(path: Path, text: str) -> pd.DataFrame:
    """The table as text, with its names made comparable to folder names."""
    if half := re.search(r"[\ud800-\udfff]", text):
        line = text.count("\n", 0, half.start()) + 1
        raise DataError(f"{path}, line {line}: half of a letter ({half[0]!r}): retype it")
    with reading(path, "a table with a header", SAVE_AGAIN):
        headers = {mark: next(csv.reader(StringIO(text.lstrip()), delimiter=mark), []) for mark in SEPARATORS}
        named = {mark: [composed(column.strip()) for column in header] for mark, header in headers.items()}
        separator = next((mark for mark, header in named.items() if "class_name" in header), ",")
        columns = named[separator]
        _check_header(path, columns)
        table = pd.read_csv(StringIO(text), sep=separator, dtype=str, keep_default_na=False, na_filter=False)
    if len(table.index) == 0 or not isinstance(table.index, pd.RangeIndex) or len(columns) != len(table.columns):
        raise DataError(f"{path}: expected one line per class with as many fields as the header; quote commas")
    table.columns = columns
    return _checked(path, table.map(str.strip))


def _checked(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    table["class_name"] = table["class_name"].map(composed)
    _check_class_names(path, list(table["class_name"]))
    if "role" in table:
        table["role"] = table["role"].str.lower()
    return table


def _check_class_names(path: Path, names: list[str]) -> None:
    if repeated := duplicates(names):
        raise DataError(f"{path} describes {first_few(repeated)} more than once: keep one row of each")
    for name in names:
        check_text(path, f"the class_name {name[:SHOWN_OF_TEXT]!r}", name, LONGEST_CLASS_NAME)
    plain = list(map(alike_as, names))
    if "" in plain:
        raise DataError(f"{path}, line {plain.index('') + 2}: the class_name is empty: name the class")
    if alike := duplicates(plain):
        both = " and ".join(repr(name) for name in names if alike_as(name) == alike[0])
        raise DataError(
            f"{path} describes {both}, which differ in capital letters, spaces or invisible signs only: keep one of "
            "them, or rename the others"
        )


def _check_header(path: Path, columns: list[str]) -> None:
    if columns and "class_name" not in columns:
        raise DataError(f"{path} has no column class_name; it has {first_few(columns, SHOWN)}{_meant(columns)}")
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
        bare = re.sub(r"\.\d+$", "", column.lower())
        plain = "".join(letter for letter in bare if is_written(letter) and letter not in SIGNS)
        if ROW_NUMBERS.fullmatch(plain) or column.lower().startswith("unnamed: "):
            raise DataError(_counts_rows(path, column))


def _meant(columns: Iterable[str]) -> str:
    """The header that one of these may stand for, as the end of a sentence."""
    for column in columns:
        known = (*PLAIN_COLUMNS, *TEXT_COLUMNS)
        if near := get_close_matches(re.sub(r"[\W_]+", "_", column.casefold()), known, n=1, cutoff=0.75):
            return f"; did you mean {near[0]} by {column!r}?"
    return ""


def _counts_rows(path: Path, column: str) -> str:
    what = f"the column {column!r}" if column else "a column without a name"
    return (
        f"{path}: {what} counts rows, or numbers them, and would be taken for an attribute: delete it (pandas leaves "
        "it out by to_csv(index=False)), or give it another name and other values if it does describe the classes"
    )


def _texts(path: Path, table: pd.DataFrame) -> list[str] | None:
    columns = [column for column in TEXT_COLUMNS if column in table]
    if len(columns) > 1:
        raise DataError(f"{path} has both {' and '.join(columns)}: keep one")
    if not columns:
        return None
    texts = list(table[columns[0]])
    if missing := [name for name, text in zip(table["class_name"], texts, strict=True) if not text]:
        raise DataError(f"{path}: no {columns[0]} of {first_few(missing)}; {drafted_by(missing)}")
    for name, text in zip(table["class_name"], texts, strict=True):
        check_text(path, f"the {columns[0]} of {name!r}", text, LONGEST_TEXT, CONTROLS)
    if drafts := [name for name, text in zip(table["class_name"], texts, strict=True) if text.startswith(DRAFT)]:
        what = "%s: the descriptions of %s are drafts: read and edit them, then delete %r"
        log.warning(what, path, first_few(drafts), DRAFT.strip())
    return [text.removeprefix(DRAFT) for text in texts]


def drafted_by(names: Sequence[str]) -> str:
    """The end of a sentence: the command that drafts descriptions of these classes."""
    return f'kedro describe "{", ".join(names[:3])}{", ..." if len(names) > 3 else ""}" drafts some'


def _attributes(path: Path, table: pd.DataFrame) -> pd.DataFrame | None:
    columns = [column for column in table if column not in (*PLAIN_COLUMNS, *TEXT_COLUMNS)]
    if not columns:
        return None
    numbers = pd.DataFrame({column: pd.to_numeric(table[column], errors="coerce") for column in columns})
    values = numbers.to_numpy(np.float64)

    def refuse(wrong: np.ndarray, must: str) -> None:
        if len(wrong):
            row, column = wrong[0]
            name, value = columns[column], str(table[columns[column]].iloc[row])
            hint = _meant([name]) or "; text belongs in a column named description"
            if re.fullmatch(r"[+-]?\d+(,\d+)+", value):
                hint = ": write it with a point and without marks between thousands"
            raise DataError(
                f"{path}: attribute {name!r} of {table['class_name'].iloc[row]!r} must be {must}, got {value!r}{hint}"
            )

    refuse(np.argwhere(~np.isfinite(values)), "a number")
    with np.errstate(over="ignore", under="ignore"):
        stored = values.astype(np.float32)  # as class vectors are
    refuse(np.argwhere(~np.isfinite(stored) | ((stored == 0) & (values != 0))), "0 or of size 1e-38 to 3e38")
    for column, own in zip(map(str, columns), values.T, strict=True):
        if _numbers_rows(column, own):
            raise DataError(_counts_rows(path, column))
    return pd.DataFrame(stored, columns=columns)


def _numbers_rows(column: str, values: np.ndarray) -> bool:
    """Whether a column counts the rows, or by its name and values looks like a number that each was given."""
    if len(values) < MANY_ROWS:
        return False
    steps = np.diff(values)
    if (steps == 1).all() or (steps == -1).all():
        return True
    numbered = bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)
    return numbered and NUMBERING.fullmatch(CAMEL.sub("_", column)) is not None


def _warn_of_odd(path: Path, attributes: pd.DataFrame) -> None:
    """Say what is taken as an attribute of many classes and may be none."""
    for column in attributes.columns if len(attributes) >= MANY_ROWS else ():
        rows = attributes[column].to_numpy()
        values, steps = np.sort(rows), np.sign(np.diff(rows))
        if values[0] == values[-1]:
            log.warning(
                "%s: attribute %r is %g for every class, so it tells none from another", path, column, values[0]
            )
        elif (np.diff(values) == 1).all():
            log.warning(
                "%s: attribute %r has every number from %g to %g once: if it numbers the classes, delete it",
                *(path, column, values[0], values[-1]),
            )
        elif (rows == np.rint(rows)).all() and steps[0] and (steps == steps[0]).all():
            log.warning(
                "%s: attribute %r is a whole number that goes %s from row to row: if it numbers the classes, delete it",
                *(path, column, "up" if steps[0] > 0 else "down"),
            )
