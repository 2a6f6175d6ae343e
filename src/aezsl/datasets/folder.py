"""Your own images: a folder per class and a table that describes the classes."""

import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
from kedro.io import DatasetError

from aezsl.datasets._files import (
    check_known,
    duplicates,
    folder_names,
    image_names,
    image_table,
    reading,
    some,
    vectors,
)
from aezsl.datasets.benchmark import ROLES, Benchmark, BenchmarkDataset

#: Columns of classes.csv with a meaning of their own; every other column is an attribute.
TEXT_COLUMNS = ("description", "text")
PLAIN_COLUMNS = ("class_name", "role", "group", "wnid")
#: Folders of images whose class is not known, below images and beside it.
UNLABELLED = ("images/_unlabelled", "unlabelled")


class FolderDataset(BenchmarkDataset):
    """``images/<class>/*.jpg`` and ``classes.csv``.

    classes.csv has the columns class_name, role (seen or unseen), and what describes a class: ``description`` (free
    text), attribute columns (numbers), or both; ``group`` and ``wnid`` may be there too. Seen classes need images,
    unseen ones may have none. Images in ``images/_unlabelled`` or ``unlabelled`` are to be classified; nobody knows
    their class.
    """

    def load(self) -> Benchmark:
        """Read the table and list the images; no image is opened."""
        path = self.require("classes.csv", "class_name, role, and a description or attributes per class")
        table = self._table(path)
        names = list(table["class_name"])
        classes = table[[column for column in PLAIN_COLUMNS if column in table]].copy()
        texts = self._texts(path, table)
        if texts is not None:
            classes["text"] = texts
        attributes = self._attributes(path, table)
        if attributes is not None:
            classes["attributes"] = vectors(attributes.to_numpy())
        if texts is None and attributes is None:
            raise DatasetError(f"{path} describes nothing: add a column description, or columns of numbers")
        images = self._images(path, names)
        of_seen = [name for name, role in zip(names, classes["role"], strict=True) if role == "seen"]
        if bare := sorted(set(of_seen) - set(images["class_name"].dropna())):
            raise DatasetError(
                f"{self.root / 'images'} has no image of the seen classes {some(bare)}: add some, or make them unseen"
            )
        return Benchmark(images, classes, tuple(attributes.columns) if attributes is not None else ())

    @staticmethod
    def _table(path: Path) -> pd.DataFrame:
        """classes.csv as text, with its names made comparable to folder names."""
        with reading(path, "a table with a header"):
            with path.open(encoding="utf-8-sig") as lines:
                header = next((line for line in lines if line.strip()), "")
            # Spreadsheets of half the world write semicolons.
            separator = next((mark for mark in (";", "\t") if mark in header and "," not in header), ",")
            table = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        table.columns = [str(column).strip() for column in table.columns]
        if missing := [column for column in ("class_name", "role") if column not in table]:
            raise DatasetError(f"{path} has no column {' and '.join(missing)}; it has {', '.join(table.columns)}")
        if len(table.index) == 0 or not isinstance(table.index, pd.RangeIndex):
            raise DatasetError(f"{path}: expected one line per class with as many fields as the header; quote commas")
        table = table.map(str.strip)
        table["class_name"] = table["class_name"].map(_composed)
        names = list(table["class_name"])
        if repeated := duplicates(names):
            raise DatasetError(f"{path} describes {some(repeated)} more than once")
        if "" in names:
            raise DatasetError(f"{path}, line {names.index('') + 2}: the class_name is empty")
        table["role"] = table["role"].str.lower()
        wrong = table[~table["role"].isin(ROLES)]
        if len(wrong):
            name, role = wrong.iloc[0][["class_name", "role"]]
            raise DatasetError(f"{path}: the role of {name!r} must be seen or unseen, got {role!r}")
        if table["role"].nunique() < len(ROLES):
            raise DatasetError(f"{path}: all classes are {table['role'].iloc[0]}; both seen and unseen ones are needed")
        return table

    @staticmethod
    def _texts(path: Path, table: pd.DataFrame) -> list[str] | None:
        columns = [column for column in TEXT_COLUMNS if column in table]
        if len(columns) > 1:
            raise DatasetError(f"{path} has both {' and '.join(columns)}: keep one")
        if not columns:
            return None
        texts = list(table[columns[0]])
        if missing := [name for name, text in zip(table["class_name"], texts, strict=True) if not text]:
            raise DatasetError(f"{path}: no {columns[0]} of {some(missing)}")
        return texts

    @staticmethod
    def _attributes(path: Path, table: pd.DataFrame) -> pd.DataFrame | None:
        columns = [column for column in table if column not in (*PLAIN_COLUMNS, *TEXT_COLUMNS)]
        if not columns:
            return None
        numbers = pd.DataFrame({column: pd.to_numeric(table[column], errors="coerce") for column in columns})
        bad = np.argwhere(~np.isfinite(numbers.to_numpy(np.float64)))
        if len(bad):
            row, column = bad[0]
            raise DatasetError(
                f"{path}: attribute {columns[column]!r} of {table['class_name'].iloc[row]!r} must be a number, got "
                f"{table[columns[column]].iloc[row]!r}; text belongs in a column named description"
            )
        return numbers

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
                raise DatasetError(f"{self.root / place} has folders in it, {some(nested)}: move the images up")
            found = image_names(self.root / place)
            files += [f"{place}/{file}" for file in found]
            labels += [label] * len(found)
        if not files:
            raise DatasetError(f"{base} has no images: expected images/<class>/<any name>.jpg, png, webp or bmp")
        return image_table(self.root, files, labels)


def _composed(name: str) -> str:
    """One spelling of accented letters: some file systems store them as letter plus accent."""
    return unicodedata.normalize("NFC", name)
