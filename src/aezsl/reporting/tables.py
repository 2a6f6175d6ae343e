"""The tables of the report, from whatever results there are."""

import json
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.normalise import PARTS as NORMALISED
from aezsl.methods import METHODS, SETTINGS, Setting, in_setting
from aezsl.reporting.comparison import HEADLINE, PARTS, STAGES, comparison_table, table_note
from aezsl.reporting.formatting import (
    ReportSettings,
    Table,
    file_columns,
    full_label,
    method_label,
    metric_intervals,
    metric_labels,
    metric_values,
)
from aezsl.reporting.over_splits import show_splits
from aezsl.reporting.pools import NOTE as POOLS_NOTE
from aezsl.reporting.pools import cell_of
from aezsl.reporting.published import GENERALIZED_CUB, IMAGENET, IMAGENET_COLUMNS, NOTE, published_column
from aezsl.reporting.results import Results


def make_tables(results: Results, settings: ReportSettings) -> dict[str, Table]:
    """All tables that the results allow, by the names of their files.

    settings : the parameters of the report; published figures are those of its ``data_set``.
    """
    data_set = settings.data_set
    made = {
        "table1": conventional(results, data_set),
        "generalized": generalized(results, data_set),
        "confidence": believed(results),
        "large_scale": large_scale(results, data_set),
        "pools": pools(results),
        "per_class_gains": per_class_gains(results),
        "selection": selection(results),
        "origins": origins(results),
        **over_splits(results),
    }
    return {key: table for key, table in made.items() if table is not None}


def finished(results: Results, setting: Setting = "zsl") -> dict[str, dict[str, Any]]:
    """Metrics, chosen parameters and record of every registered method that has been run on this problem."""
    names = {method: in_setting(method, setting) for method in METHODS}
    return {
        method: {part: results.mapping(name, part) for part in PARTS if part != "predictions"}
        | {"predictions": results.predictions(name)}
        for method, name in names.items()
        if results.path(name, "metrics") and results.is_current(name)
    }


def conventional(results: Results, data_set: str | None) -> Table:
    """The paper's Table 1 for the data at hand, what was run first."""
    labels = {
        "name": "Method",
        **metric_labels("table1"),
        "difference": "To ESZSL, points",
        "kind": "Kind",
        "seconds": "Seconds",
        "seconds_with_base": "With its base",
        "memory_mb": "Memory MB",
    }
    if column := published_column(data_set):
        labels[f"published_{column}"] = f"Published {column.upper()} %"
    note = (
        f"{table_note(data_set)} Bars run from 0 to 100%, the line below them is the interval. Seconds and memory are "
        "for fitting and ranking at the chosen parameters: of the method alone, then with the base it starts from; "
        "memory is the rise above what was in use, unknown where several methods ran at once."
    )
    intervals = {**metric_intervals("table1"), "difference": ("difference_low", "difference_high")}
    table = comparison_table(finished(results), data_set)
    return Table("Conventional setting", note, table, labels, HEADLINE, intervals)


def generalized(results: Results, data_set: str | None) -> Table:
    """Seen and unseen classes told apart together, with and without calibrated stacking."""
    figures = GENERALIZED_CUB if published_column(data_set) == "cub" else ()
    published = {(method, calibrated): value for _, method, calibrated, value in figures if method}
    runs = finished(results, "gzsl")
    rows: list[dict[str, Any]] = [
        {
            "method": method_label(name),
            "calibrated": "yes" if calibrated else "no",
            "state": "run",
            **metric_values("generalized", found["metrics"] or {}, calibrated),
            "published_cub": published.get((name, calibrated), np.nan),
        }
        for name, found in runs.items()
        for calibrated in (False, True)
    ]
    rows.sort(key=lambda row: -np.nan_to_num(row["harmonic"], nan=-1.0))
    rows += [
        {
            "method": method_label(method) if method else label,
            "calibrated": "yes" if calibrated else "no",
            "state": "not run" if method else "published only",
            "published_cub": value,
        }
        for label, method, calibrated, value in figures
        if method not in runs
    ]
    labels = {"method": "Method", "calibrated": "Calibrated", **metric_labels("generalized")}
    columns = [*labels, *file_columns("generalized"), "state"]
    if figures:
        labels["published_cub"] = "Published CUB %"
        columns.append("published_cub")
    note = f"The calibration constant comes from validation classes.{f' {NOTE}' if figures else ''}"
    return Table("Generalized setting", note, pd.DataFrame(rows, columns=columns), labels)


def believed(results: Results) -> Table:
    """How far probabilities can be believed, in both settings, the least calibration error first."""
    rows: list[dict[str, Any]] = [
        {"method": full_label(in_setting(name, setting)), "state": "run", **metric_values("confidence", metrics)}
        for setting in SETTINGS
        for name, found in finished(results, setting).items()
        if (metrics := found["metrics"] or {}).keys() & metric_labels("confidence").keys()
    ]
    rows.sort(key=lambda row: np.nan_to_num(row["ece"], nan=np.inf))
    labels = {"method": "Method", **metric_labels("confidence")}
    note = (
        "Measured on test images. ECE is how far probabilities are from the share of right names. The Brier score is "
        "the squared error of all probabilities. AUROC is 50% where chance tells whether an image shows one of the "
        "classes. AURC is the share of wrong names in the mean over all ways to name the surest images only."
    )
    return Table("Probabilities", note, pd.DataFrame(rows, columns=[*labels, "state"]), labels)


def large_scale(results: Results, data_set: str | None) -> Table:
    """Hit@K and hierarchical precision here, best first; then those published, where the data are ImageNet."""
    rows: list[dict[str, Any]] = []
    for name, found in finished(results).items():
        values = metric_values("large_scale", found["metrics"] or {})
        rows.append({"test": "here", "method": method_label(name), "state": "run", **values})
    rows.sort(key=lambda row: -np.nan_to_num(row["hit_at_1"], nan=-1.0))
    figures = IMAGENET if data_set == "imagenet" else {}
    for test, lines in figures.items():
        for label, method, published in lines:
            values = dict(zip(IMAGENET_COLUMNS, published, strict=True))
            called = method_label(method) if method else label
            rows.append({"test": f"ImageNet {test}", "method": called, "state": "published only", **values})
    labels = {"method": "Method", **metric_labels("large_scale")}
    note = "Share of images whose true class is among the K best. HP is hierarchical precision, with a class hierarchy."
    if figures:
        labels = {"test": "Test set", **labels}
        note = f"{note} {NOTE}"
    frame = pd.DataFrame(
        rows, columns=["test", "method", *metric_labels("large_scale"), *file_columns("large_scale"), "state"]
    )
    return Table("Among the K best", note, frame, labels)


def pools(results: Results) -> Table | None:
    """What the pipeline ``realistic`` has found: gains of a pool over no pool, and what it left out."""
    found = results.table("realistic", "table")
    if found is None or not results.is_current("realistic"):
        return None
    frame = found.assign(
        name=found["method"].map(method_label),
        pool=[cell_of(row).row for row in found.to_dict("records")],
        why=found["state"].where(found["state"] != "run", "").str.removeprefix("left out: "),
    )
    labels = {
        "name": "Method",
        "pool": "Present",
        "size": "Images in a batch",
        "base": "Without pool %",
        "accuracy": "With pool %",
        "gain": "Gain, points",
        "worst_draw": "Worst draw",
        "why": "Why",
    }
    return Table("Pools as they come", POOLS_NOTE, frame, labels, intervals={"gain": ("low", "high")})


def per_class_gains(results: Results) -> Table | None:
    """Accuracy per class of AEZSL over ESZSL, the largest gain first."""
    found = [results.table(name, "per_class") for name in ("eszsl", "aezsl") if results.is_current(name)]
    tables = [table.set_index("class_name") for table in found if table is not None]
    if len(tables) < 2:
        return None
    eszsl, aezsl = tables
    frame = pd.DataFrame(
        {"images": eszsl["images"], "eszsl": 100 * eszsl["accuracy"], "aezsl": 100 * aezsl["accuracy"]}
    )
    frame = frame.assign(gain=frame["aezsl"] - frame["eszsl"]).dropna()
    frame = frame.sort_values("gain", ascending=False, kind="stable").rename_axis("class_name").reset_index()
    labels = {"class_name": "Class", "images": "Images", "eszsl": "ESZSL %", "aezsl": "AEZSL %", "gain": "Gain, points"}
    better, worse = int((frame["gain"] > 0).sum()), int((frame["gain"] < 0).sum())
    note = f"{better} classes gain, {worse} lose, {len(frame) - better - worse} stay."
    return Table("AEZSL over ESZSL, class by class", note, frame, labels)


def over_splits(results: Results) -> dict[str, Table]:
    """What ``kedro repeat`` has found, a table per repeat and setting."""
    made = {}
    for name in results.names:
        summary, about = results.table(name, "summary"), results.mapping(name, "repeat")
        if summary is None or about is None or "notes" not in about:  # no repeat, or one that is not finished
            continue
        for setting in (setting for setting in SETTINGS if setting in about["notes"]):
            frame, note = show_splits(summary, setting, about["metric"]), about["notes"][setting]
            title = f"{name}, generalized setting" if setting == "gzsl" else name
            labels = {str(column): str(column) for column in frame}
            made[f"over_{in_setting(name, setting)}"] = Table(title, note, frame, labels)
    return made


def selection(results: Results) -> Table:
    """What validation chose, how surely, and whether at the edge of what was searched."""
    rows = []
    for setting in SETTINGS:
        for method, found in finished(results, setting).items():
            name = in_setting(method, setting)
            table, chosen = results.table(name, "selection"), found["chosen"] or {}
            if table is None or table.empty:
                continue
            searched = [key for key in chosen if key in table]
            steps = [
                f"{part} {table[part].iloc[0]}" for part in NORMALISED if part in table
            ]  # the chosen row is the first
            edges = [key for key in searched if _at_edge(table[key], chosen[key])]
            rows.append(
                {
                    "method": full_label(name),
                    "chosen": ", ".join([*steps, *(f"{key} {_short(chosen[key])}" for key in searched)])
                    or "nothing to choose",
                    "points": len(table),
                    "validation": 100 * table["mean"].iloc[0],
                    "median": 100 * table["mean"].median(),
                    "edge": ", ".join(edges),
                    "all_parameters": json.dumps(chosen),
                }
            )
    labels = {
        "method": "Method",
        "chosen": "Chosen",
        "points": "Points searched",
        "validation": "Validation %",
        "median": "Median of grid %",
        "edge": "At the edge of the grid",
    }
    note = "Chosen on seen classes that play unseen; never on test labels. A value at the edge suggests a wider grid."
    return Table("What validation chose", note, pd.DataFrame(rows, columns=[*labels, "all_parameters"]), labels)


def _at_edge(values: pd.Series, chosen: Any) -> bool:
    """Whether a number is the smallest or largest of at least three searched ones."""
    if not pd.api.types.is_numeric_dtype(values) or values.nunique() < 3:
        return False
    return bool(chosen in (values.min(), values.max()))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def origins(results: Results) -> Table:
    """When, from which code and at what cost every result was made."""
    rows = []
    for name in results.names:
        if results.path(name, "metrics"):
            record = results.mapping(name, "record") or {}
            rows.append(
                {
                    "method": full_label(name),
                    "finished": record.get("finished", "unknown"),
                    "code_commit": str(record.get("code_commit", "unknown")),
                    **{f"{stage}_seconds": record.get(f"{stage}_seconds", np.nan) for stage in STAGES},
                    "process_peak_mb": record.get("process_peak_mb", np.nan),
                    "problem_fingerprint": record.get("problem_fingerprint", "unknown"),
                    "used": "yes" if results.is_current(name) else "no: made on another problem",
                }
            )
    labels = {
        "method": "Method",
        "finished": "Finished",
        "code_commit": "Code",
        **{f"{stage}_seconds": f"{stage.capitalize()} s" for stage in STAGES},
        "process_peak_mb": "Peak of the process, MB",
        "used": "On this page",
    }
    note = "The peak of memory is that of the whole process so far, which may have run several methods."
    return Table("Time, memory, code", note, pd.DataFrame(rows, columns=[*labels, "problem_fingerprint"]), labels)
