"""What a user means by classes: names, descriptions, a table or JSON, and what corrections of images bring along.

One way for commands, the service and Python.
"""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.encoders.named_classes import NamedClasses
from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError
from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING
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


def placed(
    recipe: Recipe, targets: NamedClasses, images: Sequence[str], corrections: Mapping[str, str]
) -> tuple[NamedClasses, dict[int, int], list[str]]:
    """The classes with those that corrections bring, row -> number of its class, and what a user should know of that.

    images : what corrections call every row. A class that is not among the targets is one of them from now on, where
    the model can describe it by its name; else corrections to it are passed over, and that is said.
    """
    given = {row: corrections[image] for row, image in enumerate(images) if image in corrections}
    nothing = () if NONE_OF_THESE in targets.names else (NONE_OF_THESE,)
    notes = []
    for name in dict.fromkeys(given.values()):
        if name in (*targets.names, *nothing):
            continue
        near = get_close_matches(name, targets.names, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        try:
            targets = _joined(targets, recipe.targets(pd.DataFrame({"class_name": [name]})))
        except DataError as error:
            notes.append(f"corrections to {name!r}{hint} are passed over, it is not among the labels: {error}")
        else:
            notes.append(f"corrections name {name!r}{hint}, which was not among the labels: it is one of them now")
    number = dict.fromkeys(nothing, NOTHING) | {name: place for place, name in enumerate(targets.names)}
    return targets, {row: number[name] for row, name in given.items() if name in number}, notes


def _joined(targets: NamedClasses, more: NamedClasses) -> NamedClasses:
    """Targets with some more, which are in none of their groups."""
    vectors, seen = np.vstack([targets.vectors, more.vectors]), np.append(targets.seen, more.seen)
    given = None if targets.given is None or more.given is None else np.vstack([targets.given, more.given])
    return NamedClasses([*targets.names, *more.names], vectors, given, seen, targets.groups)
