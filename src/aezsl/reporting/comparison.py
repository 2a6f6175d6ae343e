"""All methods beside each other, and beside what was published: the paper's Table 1 for the data at hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from aezsl.evaluation.intervals import paired_difference
from aezsl.methods import METHODS, Entry
from aezsl.reporting.formatting import (
    ReportSettings,
    method_label,
    metric_intervals,
    metric_labels,
    metric_values,
    to_latex,
    to_markdown,
)
from aezsl.reporting.published import NOTE, TABLE_1, published_column

#: What a method's line is made of, by dataset.
PARTS = ("metrics", "chosen", "record", "predictions")

#: The same of an ablation: methods, or variants of them.
ABLATION_PARTS = ("metrics", "predictions", "chosen", "selection")

#: The method that others are compared with, image by image.
REFERENCE = "eszsl"

#: Columns of the comparison with it: in points, both ends of the interval, how likely by chance.
DIFFERENCE = ("difference", "difference_low", "difference_high", "difference_p")

#: What the columns of differences are.
PAIRED_NOTE = (
    "Intervals are 95% of a bootstrap over classes and over images within them; differences of per-class accuracy to "
    "ESZSL, in points, are paired by image, with a two-sided p-value."
)

#: What a record has the cost of.
STAGES = ("fit", "adapt", "rank")

#: What tables are ordered by.
HEADLINE = "per_class_accuracy"


def collect(settings: ReportSettings, *values: Any, names: Sequence[str]) -> tuple[pd.DataFrame, str, str]:
    """The comparison of methods that have just been run, as a table, as Markdown and as LaTeX.

    settings : the parameters of the report. values : the parts of every method one after the other, in the order of
        ``PARTS``.
    """
    step = len(PARTS)
    results = {name: dict(zip(PARTS, values[i * step :], strict=False)) for i, name in enumerate(names)}
    table = comparison_table(results, settings.data_set)
    shown, note = table_to_read(table), table_note(settings.data_set)
    return table, f"{to_markdown(shown)}\n\n{note}\n", to_latex(shown, note)


def ablation_rows(values: Sequence[Any], names: Sequence[str], reference: str) -> list[dict[str, Any]]:
    """A row per name, accuracies in per cent, with differences to the reference among them.

    values : the parts of every name one after the other, in the order of ``ABLATION_PARTS``.
    """
    step = len(ABLATION_PARTS)
    results = [dict(zip(ABLATION_PARTS, values[i * step :], strict=False)) for i in range(len(names))]
    others = results[list(names).index(reference)]["predictions"]
    return [
        {
            "validation_accuracy": 100 * found["selection"].best_score(),
            **metric_values("table1", found["metrics"]),
            **paired_columns(found["predictions"], None if found["predictions"] is others else others),
            "chosen": json.dumps(found["chosen"]),
        }
        for found in results
    ]


def table_to_read(table: pd.DataFrame) -> pd.DataFrame:
    """What was run, with columns that a page holds and their heads; parameters and parts of the cost are left out."""
    ran = table[table["state"] == "run"]
    ends = metric_intervals("table1")
    columns = {"Method": ran["name"].tolist()}
    for column, label in metric_labels("table1").items():
        columns[label] = _figures(ran, column, *ends.get(column, ()))
    columns[f"To {method_label(REFERENCE)}"] = _figures(ran, *DIFFERENCE[:3], sign="+")
    columns["p"] = ["" if np.isnan(p) else f"{p:.3f}" for p in ran[DIFFERENCE[3]]]
    columns["Seconds"] = _figures(ran, "seconds_with_base")
    for published in (column for column in map(str, ran) if column.startswith("published_")):
        columns["Published %"] = _figures(ran, published)
    return pd.DataFrame(columns)


def _figures(table: pd.DataFrame, column: str, low: str = "", high: str = "", sign: str = "") -> list[str]:
    """A column to read, with its interval if it has one; nothing for what is missing."""

    def cell(row: Mapping[Any, Any]) -> str:
        interval = f" ({row[low]:{sign}.1f} to {row[high]:{sign}.1f})" if low and not np.isnan(row[low]) else ""
        return "" if np.isnan(row[column]) else f"{row[column]:{sign}.1f}{interval}"

    return [cell(row) for row in table.to_dict("records")]


def table_note(data_set: str | None) -> str:
    """What the columns of the comparison are."""
    return f"{PAIRED_NOTE} {NOTE}" if published_column(data_set) else PAIRED_NOTE


def comparison_table(results: Mapping[str, Mapping[str, Any]], data_set: str | None = None) -> pd.DataFrame:
    """One row per method: those that were run, the best first, then the others in the paper's order; in per cent.

    results : metrics, chosen parameters, record and predictions by method; a method without metrics was not run, and
        one that is not registered is known from the paper only.
    data_set : whose published figures stand beside the measured ones, if there are any.
    """
    reference = results.get(REFERENCE, {}).get("predictions")
    published = published_column(data_set)
    listed = {row.method for row in TABLE_1}
    lines = [(row.label, row.method, row.kind, getattr(row, published) if published else np.nan) for row in TABLE_1]
    lines += [
        (entry.label, entry.name, _kind(entry), np.nan)
        for entry in METHODS.values()
        if entry.name not in listed and (entry.name in results or not entry.paired)
    ]
    rows = []
    for label, name, kind, figure in lines:
        if name not in METHODS and not published:
            continue
        found = results.get(str(name), {}) if name in METHODS else {}
        metrics, record = found.get("metrics") or {}, found.get("record") or {}
        memory = [record[f"{stage}_memory_mb"] for stage in STAGES if f"{stage}_memory_mb" in record]
        rows.append(
            {
                "method": name or "",
                "name": method_label(name) if name else label,
                "kind": _kind(METHODS[name]) if name in METHODS else kind,
                "state": _state(name in METHODS, "metrics" in found, metrics),
                **metric_values("table1", metrics),
                **paired_columns(found.get("predictions"), reference if name != REFERENCE else None),
                "fit_seconds": record.get("fit_seconds", np.nan),
                "seconds": _seconds(name, results),
                "seconds_with_base": sum(_seconds(part, results) for part in _with_bases(name)),
                "memory_mb": max(memory, default=np.nan),
                "chosen": json.dumps(found.get("chosen") or {}) if found else "",
                **({f"published_{published}": figure} if published else {}),
            }
        )
    order = sorted(rows, key=lambda row: (not row["state"].startswith("run"), -np.nan_to_num(row[HEADLINE], nan=-1.0)))
    return pd.DataFrame(order)


def _seconds(name: str | None, results: Mapping[str, Mapping[str, Any]]) -> float:
    """What fitting, adapting and ranking at the chosen parameters took together, without the base."""
    record = results.get(str(name), {}).get("record") or {}
    return float(sum(record.get(f"{stage}_seconds", np.nan) for stage in STAGES))


def _with_bases(name: str | None) -> list[str | None]:
    """The method, and those that it starts from."""
    chain = [name]
    while chain[-1] in METHODS and (base := METHODS[chain[-1]].refines):
        chain.append(base)
    return chain


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
    return dict(zip(DIFFERENCE, found, strict=True))


def _kind(entry: Entry) -> str:
    return "transductive" if entry.pool else "inductive"


def _state(registered: bool, was_run: bool, metrics: Mapping[str, float]) -> str:
    if not registered:
        return "published only"
    if not was_run:
        return "not run"
    return "run" if metrics else "run, no test labels"
