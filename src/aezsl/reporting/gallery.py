"""The picture people look at: test images with what the model called them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.reporting.pictures import show_image
from aezsl.reporting.style import (
    CAPTION_SIZE,
    GREEN,
    GREY,
    LIGHT_GREY,
    RED,
    TEXT_SIZE,
    TITLE_SIZE,
    Axes,
    Figure,
    figure_name,
    new_figure,
)


def draw_gallery(predictions: pd.DataFrame, images: pd.DataFrame, settings: dict[str, Any]) -> Figure:
    """A grid of seeded, evenly drawn test images: right names in green, wrong ones in red with the true name.

    Where there are fewer images than places the grid is smaller; where there are only features, it is a table.
    An image that nobody has named has its file's name below the name it was given and how sure that is.
    """
    columns = max(1, min(settings["columns"], len(predictions)))
    rows = max(1, min(settings["rows"], math.ceil(len(predictions) / columns)))
    shown = _draw_sample(predictions, rows * columns, settings["seed"])
    shown = shown.merge(images[["image_id", "path"]], on="image_id", how="left")
    if len(shown) and shown["path"].isna().all():
        figure = _draw_table(shown)
    else:
        figure = new_figure(1.5 * columns, 1.85 * rows + 0.7)
        axes = figure.subplots(rows, columns, squeeze=False)
        for axis in axes.flat:
            axis.axis("off")
        for axis, row in zip(axes.flat, shown.itertuples(), strict=False):
            _draw_tile(axis, row)
    figure.suptitle(_title(predictions), fontsize=TITLE_SIZE, wrap=True)
    return figure


def _title(predictions: pd.DataFrame) -> str:
    title = f"{len(predictions):,} images"
    if len(predictions):
        title += f", names chosen among {predictions['label_space'].iloc[0]} classes"
    known = predictions[predictions["true"].notna()]
    if len(known):
        share = (known["true"] == known["predicted"]).mean()
        title += f": {share:.1%} right" + (f" of {len(known):,} with labels" if len(known) < len(predictions) else "")
    return title


def _draw_sample(predictions: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """At most one image of each class while there are classes left, so that the picture shows variety."""
    shuffled = predictions.sample(frac=1, random_state=seed)
    turn = shuffled.groupby(shuffled["true"].fillna(shuffled["predicted"])).cumcount()
    return shuffled.iloc[np.argsort(turn.to_numpy(), kind="stable")[:size]]


def _draw_table(shown: pd.DataFrame) -> Figure:
    """One line per image: what it is, what it was called, and its score; wrong names in red."""
    figure = new_figure(9, 0.22 * len(shown) + 1.2)
    axes = figure.subplots()
    axes.axis("off")
    cells = [
        [
            figure_name(Path(str(row.image_id)).name),
            _true_name(row),
            figure_name(str(row.predicted)),
            surely(row),
        ]
        for row in shown.itertuples()
    ]
    table = axes.table(cells, colLabels=["image", "is", "was called", "how sure"], loc="upper center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(TEXT_SIZE)
    for (line, column), cell in table.get_celld().items():
        cell.set_edgecolor(LIGHT_GREY)
        if column == 2 and line and cells[line - 1][1] not in ("", cells[line - 1][2]):
            cell.get_text().set_color(RED)
    return figure


def surely(row: Any) -> str:
    """How sure a name is: its probability, or its score where there is none; and where that is too little, a mark."""
    if pd.isna(row.probability):
        return f"{row.score:.3g}"
    return f"{row.probability:.0%}" + (f" ({NONE_OF_THESE})" if row.none_of_these else "")


def _true_name(row: Any) -> str:
    return "" if pd.isna(row.true) else figure_name(row.true)


def _draw_tile(axes: Axes, row: Any) -> None:
    show_image(axes, row.path)
    named = figure_name(row.predicted)
    if pd.isna(row.true):
        caption, colour = f"{named} {surely(row)}\n{figure_name(Path(str(row.image_id)).name)}", GREY
    elif row.true == row.predicted:  # a tick says it too, for readers who do not see the colour
        caption, colour = f"✓ {named}", GREEN
    else:
        caption, colour = f"✗ {named}\n({figure_name(row.true)})", RED
    axes.set_title(caption, fontsize=CAPTION_SIZE, color=colour, pad=3)
