"""What every benchmark adapter gives to ingestion: one table of images, one of classes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

#: Columns an adapter may fill; the first ones are required.
IMAGE_COLUMNS = ("image_id", "path", "class_name", "official", "source")
CLASS_COLUMNS = ("class_name", "role", "group", "text", "wnid", "attributes")
ROLES = ("seen", "unseen")
#: Official use of an image: training, or test among the seen or the unseen classes.
OFFICIAL_PARTS = ("train", "test_seen", "test_unseen")


@dataclass(frozen=True)
class Benchmark:
    """A data set as its authors lay it out, read but not yet split.

    images : image_id (unique), path (absolute), class_name (missing where the label is not known), and
        ``official`` (train, test_seen or test_unseen) where the data comes with such a list, and ``source`` where
        images of one class come from several places among which ingestion may choose.
    classes : class_name (unique, in the data's own order: the paper's validation rule depends on it), and what
        the format knows: role (seen or unseen), group (for stratified splits), text, wnid,
        attributes (a vector per class).
    attribute_names : names of the attribute columns, where they have names.
    """

    images: pd.DataFrame
    classes: pd.DataFrame
    attribute_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_columns("images", self.images, IMAGE_COLUMNS, 3)
        self._check_columns("classes", self.classes, CLASS_COLUMNS, 1)
        for table, key in ((self.images, "image_id"), (self.classes, "class_name")):
            repeated = table[key][table[key].duplicated()]
            if len(repeated):
                raise DatasetError(f"{len(repeated)} {key}s occur more than once, for example {repeated.iloc[0]!r}")
        known = set(self.classes["class_name"])
        strangers = self.images["class_name"].dropna()
        strangers = strangers[~strangers.isin(known)]
        if len(strangers):
            raise DatasetError(
                f"{len(strangers)} images belong to classes that are not described, for example {strangers.iloc[0]!r}"
            )
        self._check_values("role", self.classes, ROLES)
        self._check_values("official", self.images, OFFICIAL_PARTS)

    @staticmethod
    def _check_columns(name: str, table: pd.DataFrame, columns: tuple[str, ...], required: int) -> None:
        missing = set(columns[:required]) - set(table.columns)
        unknown = set(table.columns) - set(columns)
        if missing or unknown:
            raise DatasetError(
                f"the {name} table must have {', '.join(columns[:required])} and may have "
                f"{', '.join(columns[required:])}; missing: {sorted(missing)}, unknown: {sorted(unknown)}"
            )
        if table.empty:
            raise DatasetError(f"the {name} table is empty")

    @staticmethod
    def _check_values(column: str, table: pd.DataFrame, allowed: tuple[str, ...]) -> None:
        if column in table and (bad := sorted(set(table[column].dropna()) - set(allowed))):
            raise DatasetError(f"{column} must be one of {', '.join(allowed)}; got {bad[:3]}")


class BenchmarkDataset(AbstractDataset[None, Benchmark]):
    """Base of the adapters: read-only, rooted in a folder, failing with the name of what is missing."""

    def __init__(self, *, root: str, metadata: dict[str, Any] | None = None) -> None:
        self.root = Path(root).expanduser()
        self.metadata = metadata

    def load(self) -> Benchmark:
        """Read the whole layout below ``root``."""
        raise TypeError(f"{type(self).__name__} must define load")

    def save(self, data: None) -> None:
        """Refuse: benchmarks are read, never written."""
        raise DatasetError(f"{type(self).__name__} is read-only")

    def _exists(self) -> bool:
        return self.root.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"root": str(self.root)}

    def require(self, relative: str, what: str) -> Path:
        """The path of a file or folder below root, or an error that names it and says what it holds."""
        path = self.root / relative
        if not path.exists():
            raise DatasetError(
                f"{path} is missing: it holds {what}. Put the data there as data/01_raw/README.md says, "
                f"or set the root of this data set to the folder where it lies"
            )
        return path
