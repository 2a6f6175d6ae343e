"""The qualitative analysis as pictures for kedro-viz and MLflow; the report page draws its own from the same data."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aezsl.encoders.images.extraction import read_image
from aezsl.reporting.style import BLUE, GREY, ORANGE


def draw_cases(explained: dict[str, Any]) -> Figure:
    """One row per case: its images, what tells the classes apart, the nearest seen classes."""
    cases = explained["cases"]
    pictures = max([len(case["pictures"]) for case in cases], default=1)
    neighbours = max([len(case["neighbours"]) for case in cases], default=1)
    figure = Figure(figsize=(1.3 * (pictures + neighbours) + 4, 1.9 * max(len(cases), 1)), layout="constrained")
    if not cases:
        figure.text(0.5, 0.5, explained["why"] or "no image that AEZSL gets right and ESZSL wrong", ha="center")
        return figure
    widths = [1.0] * pictures + [2.6] + [1.0] * neighbours
    axes = figure.subplots(len(cases), len(widths), squeeze=False, width_ratios=widths)
    for row, case in zip(axes, cases, strict=True):
        for axis in row:
            axis.axis("off")
        for axis, path in zip(row, case["pictures"], strict=False):
            _show(axis, path)
        row[0].set_title(f"{_plain(case['class_name'])}\nnot {_plain(case['confused_with'])}", fontsize=8, loc="left")
        _bars(row[pictures], case)
        for axis, near in zip(row[pictures + 1 :], case["neighbours"], strict=False):
            _show(axis, near["picture"])
            axis.set_title(f"{_plain(near['class_name'])}\ncosine {near['cosine']:.2f}", fontsize=7)
    return figure


def _show(axis: Axes, path: str) -> None:
    try:
        axis.imshow(read_image(path))
    except (OSError, ValueError):
        axis.text(0.5, 0.5, "no image", ha="center", va="center", fontsize=7, color=GREY, transform=axis.transAxes)


def _bars(axis: Axes, case: dict[str, Any]) -> None:
    """Mapped values of the representative attributes, or score margins where attributes have no names."""
    axis.axis("on")
    entries = case["attributes"]
    if entries:
        labels = [entry["name"] for entry in entries]
        values = [[entry[f"{method}_standardised"] for entry in entries] for method in ("eszsl", "aezsl")]
        axis.set_xlabel("mapped value (standard deviations)", fontsize=7)
    else:
        labels, values = ["margin"], [[case["margin_eszsl"]], [case["margin_aezsl"]]]
        axis.set_xlabel("score over the confused class (std.)", fontsize=7)
    for shift, numbers, colour, label in zip((-0.2, 0.2), values, (ORANGE, BLUE), ("ESZSL", "AEZSL"), strict=True):
        axis.barh([i + shift for i in range(len(labels))], numbers, 0.38, color=colour, label=label)
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set_yticks(range(len(labels)), labels, fontsize=7)
    axis.invert_yaxis()
    axis.tick_params(axis="x", labelsize=7)
    axis.legend(frameon=False, fontsize=6)


def draw_mapping(explained: dict[str, Any]) -> Figure:
    """Which seen classes pulled the mapping of the class, and how all seen classes weigh."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = [_plain(entry["class_name"]) for entry in explained["weights"]]
    left.barh(names, [entry["weight"] for entry in explained["weights"]], color=BLUE)
    left.invert_yaxis()
    left.set_xlabel("weight: squared cosine to the class")
    left.set_title("Seen classes that weigh most", fontsize=11)
    edges = explained["histogram"]["edges"]
    right.bar(edges[:-1], explained["histogram"]["counts"], width=edges[1] - edges[0], align="edge", color=BLUE)
    right.set_xlabel("weight: squared cosine to the class")
    right.set_ylabel("seen classes")
    right.set_title(f"All {explained['n_seen']} seen classes", fontsize=11)
    title = f"AEZSL's mapping of {_plain(explained['class_name'])}: moved {explained['moved']:.1%} from the shared one"
    figure.suptitle(title, fontsize=12)
    return figure


def _plain(name: str) -> str:
    name = name.replace("_", " ")
    return name if len(name) <= 24 else f"{name[:23]}…"
