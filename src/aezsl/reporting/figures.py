"""Figures: style, curves, pictures in a grid."""

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from aezsl.evaluation.reliability import reliability, risk_coverage
from aezsl.reporting.formatting import method_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.figure import SubFigure as SubFigure
else:  # Kedro reads the annotations of all nodes when it starts; matplotlib is for those alone that draw
    Axes = Figure = SubFigure = object

# Okabe-Ito: a palette that colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED, GREY, LIGHT_GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#7f7f7f", "#e0e0e0"

#: Font sizes: titles and axes of a figure, text of a panel, captions of small pictures.
TITLE_SIZE, TEXT_SIZE, CAPTION_SIZE = 12, 9, 7.5

#: Characters of a class name that are shown.
LONGEST_NAME = 22


def readable_name(name: str) -> str:
    """A class name for people: blanks instead of underscores, without the number before it that CUB has."""
    return re.sub(r"^\d{3}\.(?=[^\W\d])", "", name).replace("_", " ")


def short_name(name: str) -> str:
    """A readable name, cut where it is long."""
    name = readable_name(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def figure_name(name: str) -> str:
    """The short name for matplotlib, which would read what stands between two dollar signs as a formula."""
    return short_name(name).replace("$", r"\$")


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """An empty figure, in inches. layout : what finds places for axes, or nothing where they are given."""
    from matplotlib import figure

    return figure.Figure(figsize=(width, height), layout=layout)


def line_figure(x_label: str, y_label: str, title: str) -> tuple[Figure, Axes]:
    """An empty figure with labelled axes."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    label_axes(axes, x_label, y_label, title)
    return figure, axes


def label_axes(axes: Axes, x_label: str, y_label: str, title: str) -> None:
    """Words, numbers and a grid as all curves have them."""
    axes.set_xlabel(x_label, fontsize=TITLE_SIZE)
    axes.set_ylabel(y_label, fontsize=TITLE_SIZE)
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.tick_params(labelsize=TITLE_SIZE - 1)
    axes.grid(color=LIGHT_GREY, linewidth=0.8)
    axes.set_axisbelow(True)
    hide_frame(axes)


def hide_frame(axes: Axes) -> None:
    """Leave the two sides of the frame that carry numbers."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


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


def draw_reliability(predictions: pd.DataFrame, name: str) -> Figure:
    """Share of right names by probability, and share of wrong ones by how many images are named."""
    known = predictions[predictions["true"].notna()]
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    label_axes(left, "Probability of the name (%)", "Right names (%)", f"{method_label(name)}: what probabilities mean")
    label_axes(
        right, "Images named, the surest first (%)", "Wrong names (%)", f"{method_label(name)}: risk by coverage"
    )
    for axes in (left, right):
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
    left.plot([0, 100], [0, 100], color=GREY, linestyle="--", linewidth=1, label="as told")
    if known.empty:
        left.text(50, 50, "no test image has a label", ha="center", fontsize=TEXT_SIZE)
        return figure
    probability = known["probability"].to_numpy(dtype=np.float64)
    is_right = known["predicted"].eq(known["true"]).to_numpy(dtype=bool)
    found = reliability(probability, is_right)
    at = 100 * found.probability, 100 * found.accuracy
    left.plot(*at, color=BLUE)
    left.scatter(*at, s=20 + 400 * found.share, color=BLUE, label="measured; a larger point has more images")
    left.legend(frameon=False, fontsize=TEXT_SIZE)
    coverage, risk = risk_coverage(probability, is_right)
    right.plot(100 * coverage, 100 * risk, color=BLUE)
    return figure
