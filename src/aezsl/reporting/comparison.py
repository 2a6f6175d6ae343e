"""All methods beside each other, and beside what was published: the paper's Table 1 for the data at hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.spreadsheet import markdown_cell
from aezsl.methods import METHODS, Entry
from aezsl.reporting.columns import metric_values
from aezsl.reporting.published import NOTE, TABLE_1

#: What a method's line is made of, by dataset.
PARTS = ("metrics", "chosen", "record")

#: What a record has the cost of.
STAGES = ("fit", "adapt", "rank")


def collect(*values: dict[str, Any], names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The comparison of methods that have just been run, as a table and as Markdown.

    ``values`` are the parts of every method one after the other, in the order of ``PARTS``.
    """
    step = len(PARTS)
    results = {name: dict(zip(PARTS, values[i * step :], strict=False)) for i, name in enumerate(names)}
    table = comparison_table(results)
    return table, f"{to_markdown(table)}\n\n{NOTE}\n"


def comparison_table(results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row per method of the paper, in its order, then this project's other methods; accuracies in percent.

    ``results`` holds metrics, chosen parameters and record by method; a method without metrics was not run, and
    one that is not registered is known from the paper only.
    """
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
                "fit_seconds": record.get("fit_seconds", np.nan),
                "fit_and_rank_seconds": sum(seconds),
                "memory_mb": max(memory, default=np.nan),
                "chosen": json.dumps(found.get("chosen") or {}) if found else "",
                **dict(zip(("published_cub", "published_sun", "published_dogs"), published, strict=True)),
            }
        )
    return pd.DataFrame(rows)


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
