"""Classes to choose among, and which of them belong together: by table, by WordNet, or by what labels are called."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from aezsl.arrays import Array, Mask
from aezsl.encoders.knowledge.labels import read_labels
from aezsl.encoders.knowledge.named import found_by_name, groups_of
from aezsl.evaluation.groups import Groups


@dataclass(frozen=True)
class NamedClasses:
    """Classes to choose among."""

    names: list[str]
    vectors: Array  # (C, a) normalised as in training
    given: Array | None  # (C, a) as they were given, where normalised ones point elsewhere
    seen: Mask  # (C,) whether training had images of the class
    groups: Groups | None = None

    @property
    def mixed(self) -> bool:
        """Whether seen and unseen classes compete."""
        return bool(self.seen.any() and not self.seen.all())


def class_groups(classes: pd.DataFrame, known: pd.DataFrame) -> Groups | None:
    """The groups of some classes: by the column group of their table, else by wnid among those that are shipped.

    known : the classes of training, which have the column where the table has not.
    """
    if any(given := _column(classes, known, "group")):
        return Groups.of([[name] if name else [] for name in given])
    return groups_of(_column(classes, known, "wnid"))


def label_groups(labels: Sequence[str]) -> Groups | None:
    """The groups of labels that are names of classes of ImageNet, or above; any other label is in none."""
    return groups_of(found_by_name(read_labels(labels)[0]))


def plain_name(name: str) -> str:
    """What spellings of a name have in common."""
    return " ".join(name.lower().replace("_", " ").split())


def _column(classes: pd.DataFrame, known: pd.DataFrame, column: str) -> list[str]:
    """What the table, or else training, says of every class; empty where nothing does."""
    if column in classes:
        found: list[str] = classes[column].fillna("").tolist()
        return found
    if column not in known:
        return [""] * len(classes)
    by_name = dict(zip(known["class_name"].map(plain_name), known[column].fillna(""), strict=True))
    return [by_name.get(plain_name(name), "") for name in classes["class_name"]]
