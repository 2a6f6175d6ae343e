"""The qualitative analysis as pictures: where AEZSL is right and ESZSL wrong, and what made a class's mapping."""

from collections.abc import Sequence
from typing import Any

from aezsl.reporting.figures import (
    BLUE,
    CAPTION_SIZE,
    GREY,
    ORANGE,
    TEXT_SIZE,
    TITLE_SIZE,
    Axes,
    Figure,
    SubFigure,
    figure_name,
    hide_frame,
    new_figure,
)
from aezsl.reporting.pictures import show_image

#: Cards side by side, and the size of a card's parts in inches.
CARDS_PER_ROW = 2
CARD_WIDTH, PICTURES_HEIGHT, BAR_HEIGHT, BARS_MARGIN = 5.0, 1.5, 0.42, 0.75


def draw_cases(explained: dict[str, Any]) -> Figure:
    """One card per case: its images, what tells the two classes apart, and the seen classes nearest to either."""
    cases = explained["cases"]
    if not cases:
        figure = new_figure(CARD_WIDTH, 1)
        figure.text(0.5, 0.5, explained["why"] or "no image that AEZSL gets right and ESZSL wrong", ha="center")
        return figure
    bars_height = BARS_MARGIN + BAR_HEIGHT * max(len(_bars_of(case)) for case in cases)
    heights = [PICTURES_HEIGHT, bars_height, PICTURES_HEIGHT, PICTURES_HEIGHT]
    columns = min(CARDS_PER_ROW, len(cases))
    rows = -(-len(cases) // columns)
    figure = new_figure(CARD_WIDTH * columns, sum(heights) * rows)
    cards = figure.subfigures(rows, columns, squeeze=False, wspace=0.04, hspace=0.02)
    tiles = max(max(len(case["pictures"]), len(case["neighbours"])) for case in cases)
    lengths = [abs(value) for case in cases for _, *values in _bars_of(case) for value in values]
    furthest = max((length for length in lengths if length > 0), default=1.0)  # neither 0 nor NaN
    for card, case in zip(cards.flat, cases, strict=False):
        own, bars, near, confused = card.subfigures(4, 1, height_ratios=heights)
        name, other = figure_name(case["class_name"]), figure_name(case["confused_with"])
        _draw_pictures(own, f"{name}, not {other}", [(path, "") for path in case["pictures"]], tiles, TITLE_SIZE)
        _draw_bars(bars.subplots(), case, furthest)
        for part, title, neighbours in (
            (near, f"Nearest seen classes of {name}", case["neighbours"]),
            (confused, f"Nearest seen classes of {other}", case["confused_neighbours"]),
        ):
            captioned = [(n["picture"], f"{figure_name(n['class_name'])}\n{n['cosine']:.2f}") for n in neighbours]
            _draw_pictures(part, title, captioned, tiles, TEXT_SIZE)
    return figure


def _draw_pictures(
    part: SubFigure, title: str, captioned: Sequence[tuple[str, str]], tiles: int, title_size: float
) -> None:
    part.suptitle(title, fontsize=title_size, x=0.02, ha="left")
    axes = part.subplots(1, tiles, squeeze=False)[0]
    for axis in axes:
        axis.axis("off")
    for axis, (path, caption) in zip(axes, captioned, strict=False):
        show_image(axis, path)
        axis.set_title(caption, fontsize=CAPTION_SIZE, pad=2)


def _bars_of(case: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Label, ESZSL's and AEZSL's value: of every representative attribute, or where they have no names the lead."""
    if case["attributes"]:
        return [
            (figure_name(entry["name"]), entry["eszsl_standardised"], entry["aezsl_standardised"])
            for entry in case["attributes"]
        ]
    return [("lead", case["margin_eszsl"], case["margin_aezsl"])]


def _draw_bars(axes: Axes, case: dict[str, Any], furthest: float) -> None:
    labels, eszsl, aezsl = zip(*_bars_of(case), strict=True)
    for shift, values, colour, method in ((-0.2, eszsl, ORANGE, "ESZSL"), (0.2, aezsl, BLUE, "AEZSL")):
        bars = axes.barh([i + shift for i in range(len(labels))], values, 0.38, color=colour, label=method)
        axes.bar_label(bars, fmt="%+.2f", fontsize=CAPTION_SIZE, padding=2)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlim(-1.3 * furthest, 1.3 * furthest)
    axes.set_yticks(range(len(labels)), labels, fontsize=CAPTION_SIZE)
    axes.invert_yaxis()
    axes.tick_params(axis="x", labelsize=CAPTION_SIZE)
    other = figure_name(case["confused_with"])
    seen = "mapped value" if case["attributes"] else f"score above {other}"
    axes.set_xlabel(f"{seen} (standard deviations)", fontsize=CAPTION_SIZE)
    axes.legend(frameon=False, fontsize=CAPTION_SIZE)
    hide_frame(axes)


def draw_mapping(explained: dict[str, Any]) -> Figure:
    """Which seen classes pulled the mapping of the class, and how all seen classes weigh."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(9, 4)
    left, right = figure.subplots(1, 2)
    places = range(len(explained["weights"]))
    left.barh(places, [entry["weight"] for entry in explained["weights"]], color=BLUE)
    left.set_yticks(places, [figure_name(entry["class_name"]) for entry in explained["weights"]])
    left.invert_yaxis()
    left.set_title("Seen classes that weigh most", fontsize=TITLE_SIZE - 1)
    edges = explained["histogram"]["edges"]
    right.bar(edges[:-1], explained["histogram"]["counts"], width=edges[1] - edges[0], align="edge", color=BLUE)
    right.yaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_ylabel("seen classes")
    right.set_title(f"All {explained['n_seen']} seen classes", fontsize=TITLE_SIZE - 1)
    for axes in (left, right):
        axes.set_xlabel("weight: squared cosine to the class")
        hide_frame(axes)
    moved = f"moved {explained['moved']:.1%} from the shared one"
    figure.suptitle(f"AEZSL's mapping of {figure_name(explained['class_name'])}: {moved}", fontsize=TITLE_SIZE)
    return figure
