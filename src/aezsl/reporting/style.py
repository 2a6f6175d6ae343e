"""How all figures look: readable at 400 px, told apart without colour, on a light background for print."""

import re
from typing import TYPE_CHECKING, Literal

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
    axes.set_xlabel(x_label, fontsize=TITLE_SIZE)
    axes.set_ylabel(y_label, fontsize=TITLE_SIZE)
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.tick_params(labelsize=TITLE_SIZE - 1)
    axes.grid(color=LIGHT_GREY, linewidth=0.8)
    axes.set_axisbelow(True)
    hide_frame(axes)
    return figure, axes


def hide_frame(axes: Axes) -> None:
    """Leave the two sides of the frame that carry numbers."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
