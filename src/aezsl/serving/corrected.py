"""Names that somebody has given to some images, as a trained model takes them."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np
import pandas as pd

from aezsl.encoders.recipe import NamedClasses, Recipe
from aezsl.errors import DataError
from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING


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
