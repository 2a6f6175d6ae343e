"""A table of chosen methods for a paper: one line per method, the best in bold, with intervals and a ceiling."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import AfterValidator

from aezsl.data.problem import Problem
from aezsl.errors import DataError
from aezsl.evaluation.metrics import MetricTable, per_class_accuracy
from aezsl.kinds import Settings, Text, Values
from aezsl.methods import METHODS, SETTINGS, MethodRun, Setting, in_setting
from aezsl.reporting.comparison import REFERENCE, paired_columns
from aezsl.reporting.formatting import (
    ReportSettings,
    emphasis,
    method_label,
    metric_intervals,
    metric_labels,
    metric_values,
    to_latex,
    to_markdown,
)
from aezsl.reporting.published import XLSA17_NOTE, xlsa17_figures

#: What a method's line is made of, by dataset.
PARTS = ("metrics", "predictions")

#: Parts that the images of the unseen classes are cut into for the ceiling, and the ridges to choose among.
FOLDS, RIDGES = 5, (0.01, 0.1, 1.0, 10.0)


def check_methods(names: str) -> str:
    """Refuse names of no method."""
    for name in names.split("+"):
        if not MethodRun.parse(name).entry:
            known = [in_setting(method, setting) for setting in SETTINGS for method in METHODS]
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "expected names joined by +, such as eszsl+aezsl+gzsl_aezsl"
            raise ValueError(f"{name!r} is no method: {hint}")
    return names


class TableSettings(Settings):
    """The table of chosen methods that --pipeline=table makes in one run, as CSV, Markdown and LaTeX."""

    methods: Annotated[Text, AfterValidator(check_methods)] = "eszsl+aezsl"
    """Names joined by +; gzsl_<method> is the method in the generalized setting."""
    ceiling: bool = False
    """Whether a linear classifier of the unseen classes' own labels, cross-fitted, stands beside the methods."""
    caption: str = ""
    """In LaTeX; where there is none, it says what the figures are."""
    label: Text = "tab:results"
    """In LaTeX."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the methods, each once."""
        return tuple(dict.fromkeys(self.methods.split("+")))


def supervised_ceiling(problem: Problem) -> dict[str, float]:
    """Per-class accuracy of a linear classifier that knows the labels of unseen classes, on images it has not seen.

    A ridge classifier on the features in the first normalisation of the problem. Each fifth of the images is named by
    a classifier of the others, whose ridge is the one that leaves single ones of these out best.
    """
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    own = problem.normalised(problem.normalisations[0])
    new = own.labelled if problem.setting == "zsl" else own.y_test >= len(own.S_seen)
    X, y = own.X_test[new], own.y_test[new]
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        raise DataError("a ceiling takes two labelled images of each unseen class: leave table.ceiling out")
    folds = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=0)
    named = cross_val_predict(RidgeClassifierCV(RIDGES), X, np.searchsorted(classes, y), cv=folds)
    return {"per_class_accuracy": per_class_accuracy(np.searchsorted(classes, y), named)}


def tabulate(
    report: ReportSettings, table: TableSettings, *values: Any, names: Sequence[str], ceiling: bool
) -> tuple[pd.DataFrame, str, str]:
    """The table of methods that have just been run: all figures, Markdown, LaTeX. ``values``: see ``PARTS``.

    ceiling : whether the last value is what ``supervised_ceiling`` found.
    """
    step = len(PARTS)
    found = {name: dict(zip(PARTS, values[i * step :], strict=False)) for i, name in enumerate(names)}
    reachable = 100 * values[-1]["per_class_accuracy"] if ceiling else np.nan
    frames, markdown, latex = [], [], []
    for setting in SETTINGS:
        own = {name: found[name] for name in names if MethodRun.parse(name).setting == setting}
        if not own:
            continue
        frame, labels, ends = _figures(own, setting, report.data_set, reachable)
        frames.append(frame)
        shown, marks = _to_read(frame, labels, ends)
        note = _note(setting, frame, report)
        markdown.append(f"{to_markdown(shown, marks=marks)}\n\n{note}\n")
        suffix = "" if setting == "zsl" else f"-{setting}"
        caption = table.caption or f"{report.benchmark}: {note}"
        latex.append(to_latex(shown, marks=marks, caption=caption, label=f"{table.label}{suffix}"))
    return pd.concat(frames, ignore_index=True), "\n".join(markdown), "\n".join(latex)


def _figures(
    found: Mapping[str, Values], setting: Setting, data_set: str | None, reachable: float
) -> tuple[pd.DataFrame, dict[str, str], dict[str, tuple[str, str]]]:
    """One row per method, the best first; the labels of the columns to read, and the ends of their intervals."""
    table: MetricTable = "table1" if setting == "zsl" else "generalized"
    headline = "per_class_accuracy" if setting == "zsl" else "harmonic"
    reference = found.get(REFERENCE, {}).get("predictions")
    rows = []
    for name, parts in found.items():
        row: dict[str, Any] = {"method": name, "name": method_label(name), "setting": setting}
        row |= metric_values(table, parts["metrics"], calibrated=setting == "gzsl")
        if setting == "zsl":
            row |= metric_values("large_scale", parts["metrics"])
            row |= paired_columns(parts["predictions"], reference if name != REFERENCE else None)
            row |= {"ceiling": reachable, "share_of_ceiling": 100 * row[headline] / reachable}
        rows.append(row | _published(name, parts["metrics"], table, data_set))
    frame = pd.DataFrame(rows).sort_values(headline, ascending=False, kind="stable", ignore_index=True)
    labels = {column: label for column, label in metric_labels(table).items() if column != "accuracy"}
    if setting == "zsl" and frame.filter(like="hp_at_").notna().any(axis=None):
        labels |= metric_labels("large_scale")
    labels |= {"difference": f"To {method_label(REFERENCE)}", "share_of_ceiling": "Of the ceiling %"}
    for column, label in list(labels.items()):
        labels[f"published_{column}"] = f"Published: {label}"
    ends = {**metric_intervals(table), "difference": ("difference_low", "difference_high")}
    return frame, {c: label for c, label in labels.items() if c in frame and frame[c].notna().any()}, ends


def _published(name: str, metrics: Mapping[str, float], table: MetricTable, data_set: str | None) -> dict[str, float]:
    """What was published of the method, and by how much the figure here, without a constant, is above it, in points."""
    run, row = MethodRun.parse(name), metric_values(table, metrics)
    figures = xlsa17_figures(data_set, run.method, run.setting)
    found = {f"published_{column}": value for column, value in figures.items()}
    return found | {f"above_published_{column}": row[column] - value for column, value in figures.items()}


def _to_read(
    frame: pd.DataFrame, labels: Mapping[str, str], ends: Mapping[str, tuple[str, str]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells as text, and which are the best and the second of their column."""
    shown, marks = {"Method": frame["name"].tolist()}, {"Method": [""] * len(frame)}
    for column, label in labels.items():
        low, high = ends.get(column, ("", ""))
        cells = []
        for row in frame.to_dict("records"):
            sign = "+" if column == "difference" else ""
            cell = "" if np.isnan(row[column]) else f"{row[column]:{sign}.1f}"
            if cell and low in row and not np.isnan(row[low]):
                cell += f" ({row[low]:{sign}.1f} to {row[high]:{sign}.1f})"
            if cell and not np.isnan(row.get(f"above_{column}", np.nan)):
                cell += f" (here {row[f'above_{column}']:+.1f})"
            cells.append(cell)
        shown[label] = cells
        ranked = column not in ("difference", "share_of_ceiling") and not column.startswith("published")
        marks[label] = emphasis(frame[column].tolist()) if ranked else [""] * len(frame)
    return pd.DataFrame(shown), pd.DataFrame(marks)


def _note(setting: Setting, frame: pd.DataFrame, report: ReportSettings) -> str:
    """What the figures are, in words."""
    parts = [
        "Parameters were chosen on validation classes. The best figure of a column is bold, the second underlined."
    ]
    if setting == "zsl":
        parts.append(
            "In brackets are 95% intervals of a bootstrap over classes and over images within them; differences to "
            "ESZSL are in points, paired by image."
        )
        if (reachable := frame["ceiling"].iloc[0]) == reachable:
            parts.append(
                f"A linear classifier of the unseen classes' own labels names {reachable:.1f}% of other images right: "
                "what these features allow."
            )
    else:
        parts.append("Seen and unseen classes compete, after calibrated stacking.")
    if any(column.startswith("published") for column in map(str, frame)):
        parts.append(XLSA17_NOTE)
    return " ".join(parts)
