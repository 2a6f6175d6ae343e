"""Metrics as columns of tables, in per cent."""

from collections.abc import Mapping

import numpy as np

from aezsl.evaluation.metrics import Metric, MetricTable, metrics_in


def metric_values(table: MetricTable, metrics: Mapping[str, float], calibrated: bool = False) -> dict[str, float]:
    """Column -> value in per cent, NaN where the metrics do not have it; ``calibrated`` ones where there are such."""
    keys = {m: f"{m.key}_calibrated" if calibrated and m.calibrated else m.key for m in metrics_in(table)}
    return {_column(metric): 100 * metrics.get(key, np.nan) for metric, key in keys.items()}


def metric_labels(table: MetricTable) -> dict[str, str]:
    """Column -> label of the metrics that the page shows."""
    return {_column(metric): f"{metric.label} %" for metric in metrics_in(table) if metric.on_page}


def file_columns(table: MetricTable) -> list[str]:
    """The columns that the page leaves to the table's file."""
    return [_column(metric) for metric in metrics_in(table) if not metric.on_page]


def _column(metric: Metric) -> str:
    return metric.key.removeprefix("gzsl_")  # the table is of one setting
