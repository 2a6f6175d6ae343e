"""A data set as its reader gives it, and lists of candidate classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from aezsl.errors import DataError, counted

#: Columns an adapter may fill; the first ones are required.
IMAGE_COLUMNS = ("image_id", "path", "class_name", "official", "source")
CLASS_COLUMNS = ("class_name", "role", "group", "text", "wnid", "attributes")
ROLES = ("seen", "unseen")
#: Official use of an image: training, or test among the seen or the unseen classes.
OFFICIAL_PARTS = ("train", "test_seen", "test_unseen")


@dataclass(frozen=True)
class Proposal:
    """Which part of a data set its reader proposes to work with, where the parameters of ingestion do not say."""

    groups: tuple[str, ...] = ()  # of classes; empty: all
    sources: tuple[str, ...] = ()  # of images; empty: all
    complete: bool = False  # only classes that every source shows


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
    proposal : the part of it that is meant to be used.
    """

    images: pd.DataFrame
    classes: pd.DataFrame
    attribute_names: tuple[str, ...] = ()
    proposal: Proposal = Proposal()

    def __post_init__(self) -> None:
        self._check_columns("images", self.images, IMAGE_COLUMNS, 3)
        self._check_columns("classes", self.classes, CLASS_COLUMNS, 1)
        for table, key in ((self.images, "image_id"), (self.classes, "class_name")):
            repeated = table[key][table[key].duplicated()]
            if len(repeated):
                raise DataError(f"{len(repeated)} {key}s occur more than once, for example {repeated.iloc[0]!r}")
        known = set(self.classes["class_name"])
        strangers = self.images["class_name"].dropna()
        strangers = strangers[~strangers.isin(known)]
        if len(strangers):
            raise DataError(
                f"{counted(len(strangers), 'images belong', 'image belongs')} to classes that are not described, "
                f"for example {strangers.iloc[0]!r}"
            )
        self._check_values("role", self.classes, ROLES)
        self._check_values("official", self.images, OFFICIAL_PARTS)

    @staticmethod
    def _check_columns(name: str, table: pd.DataFrame, columns: tuple[str, ...], required: int) -> None:
        missing = set(columns[:required]) - set(table.columns)
        unknown = set(table.columns) - set(columns)
        if missing or unknown:
            raise DataError(
                f"the {name} table must have {', '.join(columns[:required])} and may have "
                f"{', '.join(columns[required:])}; missing: {sorted(missing)}, unknown: {sorted(unknown)}"
            )
        if table.empty:
            raise DataError(f"the {name} table is empty")

    @staticmethod
    def _check_values(column: str, table: pd.DataFrame, allowed: tuple[str, ...]) -> None:
        if column in table and (bad := sorted(set(table[column].dropna()) - set(allowed))):
            raise DataError(f"{column} must be one of {', '.join(allowed)}; got {bad[:3]}")


#: Parent and child.
Edge = tuple[str, str]


@dataclass(frozen=True)
class Candidates:
    """Names of the classes of every list, and the edges of the hierarchy where there is one."""

    lists: Mapping[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] | None = None
