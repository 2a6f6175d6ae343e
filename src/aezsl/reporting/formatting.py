"""Names, columns and cells of tables as text, Markdown, LaTeX."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.spreadsheet import escape_formulas, markdown_cell
from aezsl.evaluation.metrics import Metric, MetricTable, metrics_in
from aezsl.kinds import Count, Name, Settings, Text
from aezsl.methods import MethodRun


class ReportSettings(Settings):
    """The page that the pipeline report writes, and tables beside published figures."""

    benchmark: Name = ""
    """Its title. It follows from the environment."""
    data_set: Text | None = None
    """cub, sun, dogs or imagenet: whose published figures stand beside the measured ones."""
    env: str = ""
    """Of the commands on the page, which say what is missing: those of this run."""
    gallery_width: Count = 1200
    """Pixels. The picture of test images is scaled down to this."""


def method_label(name: str) -> str:
    """The label of a method, whichever setting its name is of; a name that is not registered stays."""
    run = MethodRun.parse(name)
    return run.entry.label if run.entry else run.method


def full_label(name: str) -> str:
    """The label with the setting, for tables that hold both."""
    return f"{method_label(name)}, generalized" if MethodRun.parse(name).setting == "gzsl" else method_label(name)


def metric_values(table: MetricTable, metrics: Mapping[str, float], calibrated: bool = False) -> dict[str, float]:
    """Column -> value in per cent, NaN where the metrics do not have it; ``calibrated`` ones where there are such."""
    keys = {m: f"{m.key}_calibrated" if calibrated and m.calibrated else m.key for m in metrics_in(table)}
    return {_column(metric): 100 * metrics.get(key, np.nan) for metric, key in keys.items()}


def metric_labels(table: MetricTable) -> dict[str, str]:
    """Column -> label of the metrics that the page shows; ends of intervals stand in the cells of their metrics."""
    shown = (metric for metric in metrics_in(table) if metric.on_page and not metric.bound)
    return {_column(metric): f"{metric.label} %" for metric in shown}


def metric_intervals(table: MetricTable) -> dict[str, tuple[str, str]]:
    """Column -> the columns of the two ends of its interval, for metrics that have one."""
    bounds = {metric.key for metric in metrics_in(table) if metric.bound}
    ends = {metric: (f"{metric.key}_low", f"{metric.key}_high") for metric in metrics_in(table)}
    return {_column(metric): pair for metric, pair in ends.items() if bounds.issuperset(pair)}


def file_columns(table: MetricTable) -> list[str]:
    """The columns that the page leaves to the table's file."""
    return [_column(metric) for metric in metrics_in(table) if not metric.on_page]


def _column(metric: Metric) -> str:
    return metric.column or metric.key


@dataclass(frozen=True)
class Table:
    """A table for the page and for files. Files hold all; the page folds rows of what was not run."""

    title: str
    note: str
    frame: pd.DataFrame
    labels: dict[str, str]  # of the columns that the page shows
    bar: str = ""  # the column drawn as a bar behind its numbers
    intervals: dict[str, tuple[str, str]] = field(default_factory=dict)  # column -> those of the ends of its interval

    @property
    def filled(self) -> dict[str, str]:
        """The labels of the columns that have anything in them, among what was run."""
        return _filled(self.ran, self.labels)

    @property
    def filled_others(self) -> dict[str, str]:
        """The same among what was not."""
        return _filled(self.others, self.labels)

    @property
    def ran(self) -> pd.DataFrame:
        """The rows that were measured here."""
        return self.frame[self._measured]

    @property
    def others(self) -> pd.DataFrame:
        """The rows that were not."""
        return self.frame[~self._measured]

    @property
    def _measured(self) -> pd.Series:
        state = self.frame.get("state", pd.Series("run", index=self.frame.index, dtype=object))
        return state.str.startswith("run").astype(bool)


def _filled(frame: pd.DataFrame, labels: dict[str, str]) -> dict[str, str]:
    empty = frame.isna() | (frame == "")
    return {column: label for column, label in labels.items() if not empty[column].all()}


def write_tables(tables: dict[str, Table]) -> dict[str, str]:
    """Every table as CSV and as Markdown, by file name."""
    files = {}
    for key, table in tables.items():
        files[f"{key}.csv"] = escape_formulas(table.frame).to_csv(index=False)
        files[f"{key}.md"] = f"# {table.title}\n\n{to_markdown(table.frame)}\n\n{table.note}\n"
    return files


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


#: Marks of cells: what they are in LaTeX, and what stands on both sides in Markdown.
_MARKS = {"best": (r"\textbf", "**", "**"), "second": (r"\underline", "<u>", "</u>")}


def emphasis(values: Sequence[float], digits: int = 1) -> list[str]:
    """Which values are the best and the second best as they are shown; none, where fewer than two differ."""
    rounded = [round(value, digits) for value in values]
    order = sorted({value for value in rounded if not np.isnan(value)}, reverse=True)[:2]
    places = dict(zip(order, _MARKS, strict=False)) if len(order) > 1 else {}
    return [places.get(value, "") for value in rounded]


def to_latex(
    table: pd.DataFrame,
    note: str = "",
    digits: int = 2,
    marks: pd.DataFrame | None = None,
    caption: str = "",
    label: str = "",
) -> str:
    """The table as ``tabular``, columns of figures to the right; the note as a comment above it.

    marks : of cells, see ``emphasis``. With a caption it is a ``table`` that floats.
    """

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            value = "" if np.isnan(value) else f"{value:.{digits}f}"
        return "" if value is None else _MINUS.sub("$-$", escape(str(value)))

    rows = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)  # without rows the heads still have theirs
    sides = "".join("r" if all(map(_FIGURE.match, column)) else "l" for column in columns)
    lines = [f"% {line}" for line in ["\\usepackage{booktabs} goes into the preamble.", *note.splitlines()]]
    if caption:
        lines += [r"\begin{table}", r"\centering", rf"\caption{{{cell(caption)}}}", rf"\label{{{label}}}"]
    if marks is not None:
        rows = [
            [f"{_MARKS[mark][0]}{{{text}}}" if mark else text for text, mark in zip(row, own, strict=True)]
            for row, own in zip(rows, marks.itertuples(index=False), strict=True)
        ]
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
    lines += [rf"{' & '.join(escape(str(column)) for column in table.columns)} \\", r"\midrule"]
    lines += [rf"{' & '.join(row)} \\" for row in rows]
    end = [r"\end{table}"] if caption else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *end, ""])


def to_markdown(table: pd.DataFrame, digits: int = 2, marks: pd.DataFrame | None = None) -> str:
    """A Markdown table; numbers rounded, nothing for what is missing. marks : see ``emphasis``."""

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        return "" if value is None else markdown_cell(str(value))

    lines = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    rows = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    for row, own in zip(rows, () if marks is None else marks.itertuples(index=False), strict=False):
        for place, mark in enumerate(own):
            if mark:
                row[place] = row[place].join(_MARKS[mark][1:])
    lines += rows
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
