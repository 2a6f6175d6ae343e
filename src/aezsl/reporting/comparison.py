"""All methods beside each other, and beside what was published: the paper's Table 1 for the data at hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.spreadsheet import markdown_cell
from aezsl.evaluation.intervals import paired_difference
from aezsl.methods import METHODS, Entry
from aezsl.reporting.columns import metric_values
from aezsl.reporting.latex import to_latex
from aezsl.reporting.published import NOTE, TABLE_1

#: What a method's line is made of, by dataset.
PARTS = ("metrics", "chosen", "record", "predictions")

#: The method that others are compared with, image by image.
REFERENCE = "eszsl"

#: Columns of the table for a paper, with their heads.
LATEX_COLUMNS = {
    "name": "Method",
    "accuracy": "Accuracy",
    "per_class_accuracy": "Per class",
    "per_class_accuracy_low": "Low",
    "per_class_accuracy_high": "High",
    "difference": "To ESZSL",
    "difference_low": "Low",
    "difference_high": "High",
    "difference_p": "p",
}

#: What the columns of differences are.
PAIRED_NOTE = (
    "Intervals are 95% of a bootstrap over classes and over images within them; differences of per-class accuracy to "
    "ESZSL, in points, are paired by image, with a two-sided p-value."
)

#: What a record has the cost of.
STAGES = ("fit", "adapt", "rank")


def collect(*values: Any, names: Sequence[str]) -> tuple[pd.DataFrame, str, str]:
    """The comparison of methods that have just been run, as a table, as Markdown and as LaTeX.

    ``values`` are the parts of every method one after the other, in the order of ``PARTS``.
    """
    step = len(PARTS)
    results = {name: dict(zip(PARTS, values[i * step :], strict=False)) for i, name in enumerate(names)}
    table = comparison_table(results)
    ran = table[table["state"] == "run"]
    latex = to_latex(ran[list(LATEX_COLUMNS)].set_axis(list(LATEX_COLUMNS.values()), axis="columns"), PAIRED_NOTE)
    return table, f"{to_markdown(table)}\n\n{PAIRED_NOTE} {NOTE}\n", latex


def comparison_table(results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row per method of the paper, in its order, then this project's other methods; accuracies in percent.

    ``results`` holds metrics, chosen parameters, record and predictions by method; a method without metrics was not
    run, and one that is not registered is known from the paper only.
    """
    reference = results.get(REFERENCE, {}).get("predictions")
    lines = [(row.label, row.method, row.kind, row.cub, row.sun, row.dogs) for row in TABLE_1]
    listed = {row.method for row in TABLE_1}
    unlisted = [entry for entry in METHODS.values() if entry.name not in listed]
    lines += [(entry.label, entry.name, _kind(entry), np.nan, np.nan, np.nan) for entry in unlisted]
    rows = []
    for label, name, kind, *published in lines:
        registered = name in METHODS
        found = results.get(str(name), {}) if registered else {}
        metrics, record = found.get("metrics") or {}, found.get("record") or {}
        seconds = [record.get(f"{stage}_seconds", np.nan) for stage in STAGES]
        memory = [record[f"{stage}_memory_mb"] for stage in STAGES if f"{stage}_memory_mb" in record]
        rows.append(
            {
                "method": name or "",
                "name": label,
                "kind": _kind(METHODS[str(name)]) if registered else kind,
                "state": _state(registered, "metrics" in found, metrics),
                **metric_values("table1", metrics),
                **paired_columns(found.get("predictions"), reference if name != REFERENCE else None),
                "fit_seconds": record.get("fit_seconds", np.nan),
                "fit_and_rank_seconds": sum(seconds),
                "memory_mb": max(memory, default=np.nan),
                "chosen": json.dumps(found.get("chosen") or {}) if found else "",
                **dict(zip(("published_cub", "published_sun", "published_dogs"), published, strict=True)),
            }
        )
    return pd.DataFrame(rows)


def paired_columns(predictions: pd.DataFrame | None, reference: pd.DataFrame | None) -> dict[str, float]:
    """Difference of per-class accuracy to the reference on the same images, in points; NaN where there is none."""
    found = (np.nan, np.nan, np.nan, np.nan)
    if predictions is not None and reference is not None:
        both = predictions.merge(reference, on=["image_id", "true"], suffixes=("", "_reference")).dropna(
            subset=["true"]
        )
        if len(both) and len(both) == predictions["true"].notna().sum() == reference["true"].notna().sum():
            right, other = (both["true"].eq(both[column]).to_numpy() for column in ("predicted", "predicted_reference"))
            difference = paired_difference(pd.factorize(both["true"])[0], right, other)
            found = (100 * difference.mean, 100 * difference.low, 100 * difference.high, difference.p)
    return dict(zip(("difference", "difference_low", "difference_high", "difference_p"), found, strict=True))


def _kind(entry: Entry) -> str:
    return "transductive" if entry.pool else "inductive"


def _state(registered: bool, was_run: bool, metrics: Mapping[str, float]) -> str:
    if not registered:
        return "published only"
    if not was_run:
        return "not run"
    return "run" if metrics else "run, no test labels"


def to_markdown(table: pd.DataFrame, digits: int = 2) -> str:
    """A Markdown table; numbers rounded, nothing for what is missing."""

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        return "" if value is None else markdown_cell(str(value))

    lines = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
