"""The line figures: refinement round by round, sensitivity to a parameter, seen against unseen accuracy."""

from typing import Any

import numpy as np
import pandas as pd

from aezsl.reporting.labels import method_label
from aezsl.reporting.style import BLUE, GREY, ORANGE, Figure, line_figure

#: A logarithmic axis shows values whose largest is more than this many times the smallest.
LOGARITHMIC_FROM = 50


def draw_refinement_curve(history: pd.DataFrame, name: str) -> Figure:
    """Accuracy of all labels against the rounds, the start being round 0; where none is known, how many changed."""
    from matplotlib.ticker import MaxNLocator

    known = len(history) > 0 and history["accuracy"].notna().all()
    rounds = int((history["round"] > 0).sum())
    title = f"{method_label(name)}: label refinement, {rounds} round{'' if rounds == 1 else 's'}"
    figure, axes = line_figure("Round", "Accuracy of all labels (%)" if known else "Labels changed", title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    marker = "o" if len(history) < 60 else ""
    if known:
        axes.plot(history["round"], 100 * history["accuracy"], marker=marker, color=BLUE)
        axes.axhline(100 * history["accuracy"].iloc[0], color=GREY, linestyle="--", linewidth=1, label="start")
        axes.legend(frameon=False)
    else:
        axes.plot(history["round"], history["changed"], marker=marker, color=BLUE)
    return figure


def draw_sensitivity(table: pd.DataFrame, chosen: dict[str, Any], name: str, parameter: str) -> Figure:
    """Accuracy against the parameter, with a dashed line at the chosen value."""
    figure, axes = line_figure(parameter, "Accuracy (%)", f"{method_label(name)}: sensitivity to {parameter}")
    values = table[parameter]
    axes.plot(values, 100 * table["accuracy"], marker="o", color=BLUE, label="per image")
    axes.plot(values, 100 * table["per_class_accuracy"], marker="s", linestyle=":", color=ORANGE, label="per class")
    axes.axvline(chosen[parameter], color=GREY, linestyle="--", label=f"chosen: {chosen[parameter]:g}")
    if values.min() > 0 and values.max() / values.min() > LOGARITHMIC_FROM:
        axes.set_xscale("log")
    low, high = axes.get_ylim()
    if high - low < 10:  # a flat line should look flat
        axes.set_ylim((low + high) / 2 - 5, (low + high) / 2 + 5)
    axes.legend(frameon=False)
    return figure


def draw_seen_unseen_curve(curve: pd.DataFrame, marked: pd.DataFrame, metrics: dict[str, float], name: str) -> Figure:
    """Unseen against seen accuracy at every constant, the area below it, and the points in use."""
    title = f"{method_label(name)}: seen and unseen accuracy, AUSUC {100 * metrics.get('ausuc', np.nan):.1f}%"
    figure, axes = line_figure("Accuracy on unseen classes (%)", "Accuracy on seen classes (%)", title)
    axes.plot(100 * curve["unseen"], 100 * curve["seen"], color=BLUE)
    axes.fill_between(100 * curve["unseen"], 100 * curve["seen"], color=BLUE, alpha=0.12)
    for (_, row), marker, colour in zip(marked.iterrows(), "sD", (GREY, ORANGE), strict=True):
        label = f"{row['point']} (constant {row['constant']:.3g})"
        at = 100 * row["unseen"], 100 * row["seen"]
        axes.plot(*at, marker, color=colour, markersize=9, label=label, clip_on=False)  # whole at the axis too
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure
