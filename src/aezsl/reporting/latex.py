"""Tables for a paper: LaTeX with the rules of the package ``booktabs``."""

import re
from typing import Any

import numpy as np
import pandas as pd

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": r"$-$",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
}

#: What begins a figure, also an empty cell; a hyphen that is a minus sign.
_FIGURE = re.compile(r"(\+|\$-\$)?\d|$")
_MINUS = re.compile(r"(?<!\w)-(?=\d)")


def escape(text: str) -> str:
    """The text, with every character that LaTeX reads as a command written out."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def to_latex(table: pd.DataFrame, note: str = "", digits: int = 2) -> str:
    """The table as ``tabular``, columns of figures to the right; the note as a comment above it."""

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            value = "" if np.isnan(value) else f"{value:.{digits}f}"
        return "" if value is None else _MINUS.sub("$-$", escape(str(value)))

    rows = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)  # without rows the heads still have theirs
    sides = "".join("r" if all(map(_FIGURE.match, column)) else "l" for column in columns)
    lines = [f"% {line}" for line in ["\\usepackage{booktabs} goes into the preamble.", *note.splitlines()]]
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
    lines += [rf"{' & '.join(escape(str(column)) for column in table.columns)} \\", r"\midrule"]
    lines += [rf"{' & '.join(row)} \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
