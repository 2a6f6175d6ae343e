"""Kinds of parameters as annotations, and the base of all settings.

A parameter is annotated with what it may be, ``lam: Positive = 1.0``. pydantic holds values to it: of settings when
they are made, of methods when they are fitted (``check_value``).
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
#: Of steps in single precision, which has no number for much larger ones.
Rate = Annotated[float, Gt(0), Le(1e30)]
#: Neither all nor nothing.
Fraction = Annotated[float, Gt(0), Lt(1)]
#: It may be nothing, but not all.
Share = Annotated[float, Ge(0), Lt(1)]
#: From nothing to all.
Proportion = Annotated[float, Ge(0), Le(1)]
#: How many times as much.
AtLeastOne = Annotated[float, Ge(1)]
Count = Annotated[int, Ge(1)]
CountOrNone = Annotated[int, Ge(0)]
Seed = Annotated[int, Ge(0), Lt(2**32)]
Text = Annotated[str, MinLen(1)]
#: It may look like a number.
Name = Annotated[str, BeforeValidator(str)]

#: Parameters or settings by name.
Values = Mapping[str, Any]

#: No ``"1"`` for 1, no ``true`` for a number, no infinity; whole numbers are numbers.
STRICT = ConfigDict(strict=True, allow_inf_nan=False)


class Settings(BaseModel):
    """A section of the parameters: names, kinds, defaults, and what each means. Unknown names are refused."""

    model_config = STRICT | ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """What each parameter means: the text below its line, read from the source when somebody asks."""
        (definition,) = ast.parse(inspect.getsource(cls)).body
        below = pairwise(definition.body)  # type: ignore[attr-defined]
        return {
            ast.unparse(line.target): ast.literal_eval(text.value)
            for line, text in below
            if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr)
        }


def check_value(kind: Any, value: Any) -> str:
    """What is wrong with a value of this kind, as the end of a sentence; empty where nothing is."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        _adapter(kind).validate_python(value)
    except ValidationError as error:
        return f"{error.errors()[0]['msg']}, got {value!r}"
    return ""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=STRICT | ConfigDict(arbitrary_types_allowed=True))
