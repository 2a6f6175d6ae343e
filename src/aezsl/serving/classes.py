"""What a user means by classes: names, descriptions, a table or JSON. One way for commands, the service and Python."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from aezsl.encoders.recipe import NamedClasses, Recipe
from aezsl.errors import DataError
from aezsl.formats.class_table import read_class_table, table_of_rows

#: A text (see ``parsed``), name -> description, names, or rows of a table.
Given = str | Mapping[str, Any] | Sequence[Any]

#: How errors call a table that is not a file.
SOURCE = Path("the list of classes")


def find_classes(recipe: Recipe, given: Given) -> NamedClasses:
    """The classes to choose among, as vectors; the unseen ones of training where nothing is given."""
    return recipe.targets(*class_table(given))


def parsed(given: Given) -> Given:
    """A text as what it holds: JSON, a table with a header (left as it is), or names with commas between them."""
    if not isinstance(given, str):
        return given
    text = given.strip()
    if text[:1] in ("[", "{"):
        try:
            found: Given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"classes begin like JSON and are not ({error})") from error
        return found
    is_table = "\n" in text or "class_name" in text
    return text if is_table else [name.strip() for name in text.split(",") if name.strip()]


def class_table(given: Given) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """The table of classes and the names of their attributes, as ``Recipe.targets`` takes them; None for nothing."""
    given = parsed(given)
    if isinstance(given, str):
        return read_class_table(SOURCE, given) if given else (None, ())
    if isinstance(given, Mapping):
        given = [{"class_name": name, "description": text} for name, text in given.items()]
    rows = [{"class_name": item} if isinstance(item, str) else item for item in given]
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or set(row) != set(rows[0]) or not all(map(_is_plain, row.values())):
            raise DataError(
                f"classes[{number}] must be a name, or an object with class_name and the same entries as the first, "
                "each a text or a number"
            )
    table, attributes = table_of_rows(SOURCE, rows) if rows else (None, ())
    if wrong := [name for name in attributes if any(isinstance(row.get(name), str) for row in rows)]:
        raise DataError(f"{wrong[0]} of every class must be a number, and is a text: leave its quotes out")
    return table, attributes


def _is_plain(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
