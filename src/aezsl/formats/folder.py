"""Your own images: a folder per class and a table that describes the classes."""

import unicodedata
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.data.benchmark import ROLES, Benchmark
from aezsl.errors import DataError
from aezsl.formats.base import BenchmarkFormat
from aezsl.formats.reading import (
    as_column,
    check_known,
    duplicates,
    first_few,
    folder_names,
    image_names,
    image_table,
    reading,
)

#: Columns of classes.csv with a meaning of their own; every other column is an attribute.
TEXT_COLUMNS = ("description", "text")
PLAIN_COLUMNS = ("class_name", "role", "group", "wnid")
#: Folders of images whose class is not known, below images and beside it.
UNLABELLED = ("images/_unlabelled", "unlabelled")


class Folder(BenchmarkFormat):
    """``images/<class>/*.jpg`` and ``classes.csv``.

    classes.csv has the columns class_name, role (seen or unseen), and what describes a class: ``description`` (free
    text), attribute columns (numbers), or both; ``group`` and ``wnid`` may be there too. Seen classes need images,
    unseen ones may have none. Images in ``images/_unlabelled`` or ``unlabelled`` are to be classified; nobody knows
    their class.
    """

    def read(self) -> Benchmark:
        """Read the table and list the images; no image is opened."""
        path = self.require("classes.csv", "class_name, role, and a description or attributes per class")
        classes, attribute_names = read_class_table(path)
        check_roles(path, classes)
        if not {"text", "attributes"} & set(classes.columns):
            raise DataError(f"{path} describes nothing: add a column description, or columns of numbers")
        names = list(classes["class_name"])
        images = self._images(path, names)
        of_seen = [name for name, role in zip(names, classes["role"], strict=True) if role == "seen"]
        if bare := sorted(set(of_seen) - set(images["class_name"].dropna())):
            raise DataError(
                f"{self.root / 'images'} has no image of the seen classes {first_few(bare)}: "
                "add some, or make them unseen"
            )
        return Benchmark(images, classes, attribute_names)

    def _images(self, table: Path, names: list[str]) -> pd.DataFrame:
        base = self.require("images", "one folder of images per class")
        folders = {_composed(name): name for name in folder_names(base) if name != Path(UNLABELLED[0]).name}
        check_known(folders, names, f"{base}, by its folders, against {table.name},")
        files: list[str] = []
        labels: list[str | None] = []
        places: list[tuple[str, str | None]] = [(f"images/{folders[n]}", n) for n in names if n in folders]
        places += [(place, None) for place in UNLABELLED if (self.root / place).is_dir()]
        for place, label in places:
            if nested := folder_names(self.root / place):
                raise DataError(f"{self.root / place} has folders in it, {first_few(nested)}: move the images up")
            found = image_names(self.root / place)
            files += [f"{place}/{file}" for file in found]
            labels += [label] * len(found)
        if not files:
            raise DataError(f"{base} has no images: expected images/<class>/<any name>.jpg, png, webp or bmp")
        return image_table(self.root, files, labels)


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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error}): save it as CSV in UTF-8, as spreadsheets offer") from error


def _parse(path: Path, text: str) -> pd.DataFrame:
    """The table as text, with its names made comparable to folder names."""
    with reading(path, "a table with a header"):
        header = next((line for line in text.splitlines() if line.strip()), "")
        # Spreadsheets of half the world write semicolons.
        separator = next((mark for mark in (";", "\t") if mark in header and "," not in header), ",")
        table = pd.read_csv(StringIO(text), sep=separator, dtype=str, keep_default_na=False)
    table.columns = [str(column).strip() for column in table.columns]
    if "class_name" not in table:
        raise DataError(f"{path} has no column class_name; it has {', '.join(table.columns)}")
    if len(table.index) == 0 or not isinstance(table.index, pd.RangeIndex):
        raise DataError(f"{path}: expected one line per class with as many fields as the header; quote commas")
    table = table.map(str.strip)
    table["class_name"] = table["class_name"].map(_composed)
    names = list(table["class_name"])
    if repeated := duplicates(names):
        raise DataError(f"{path} describes {first_few(repeated)} more than once")
    if "" in names:
        raise DataError(f"{path}, line {names.index('') + 2}: the class_name is empty")
    if "role" in table:
        table["role"] = table["role"].str.lower()
    return table


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
    bad = np.argwhere(~np.isfinite(numbers.to_numpy(np.float64)))
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"{path}: attribute {columns[column]!r} of {table['class_name'].iloc[row]!r} must be a number, got "
            f"{table[columns[column]].iloc[row]!r}; text belongs in a column named description"
        )
    return numbers


def _composed(name: str) -> str:
    """One spelling of accented letters: some file systems store them as letter plus accent."""
    return unicodedata.normalize("NFC", name)
