"""Metrics as columns of tables, in per cent."""

from collections.abc import Mapping

import numpy as np

from aezsl.evaluation.metrics import Metric, MetricTable, metrics_in


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
    return metric.key.removeprefix("gzsl_")  # the table is of one setting
