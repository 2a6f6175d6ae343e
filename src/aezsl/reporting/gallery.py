"""The picture people look at: test images with what the model called them."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aezsl.encoders.images.extraction import read_image

# Green and red of the Okabe-Ito palette: told apart by colour-blind readers too; a tick or cross says it again.
RIGHT, WRONG, UNKNOWN = "#009e73", "#d55e00", "#7f7f7f"


def draw_gallery(predictions: pd.DataFrame, images: pd.DataFrame, settings: dict[str, Any]) -> Figure:
    """A grid of seeded, evenly drawn test images: right names in green, wrong ones in red with the true name."""
    rows, columns = settings["rows"], settings["columns"]
    shown = _draw_sample(predictions, rows * columns, settings["seed"])
    shown = shown.merge(images[["image_id", "path"]], on="image_id", how="left")
    figure = Figure(figsize=(1.5 * columns, 1.85 * rows + 0.7), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, row in zip(axes.flat, shown.itertuples(), strict=False):
        _draw_tile(axis, row)
    title = f"{len(predictions):,} test images"
    if len(predictions):
        title += f", names chosen among {predictions['label_space'].iloc[0]} classes"
    known = predictions[predictions["true"].notna()]
    if len(known):
        share = (known["true"] == known["predicted"]).mean()
        title += f": {share:.1%} right" + (f" of {len(known):,} with labels" if len(known) < len(predictions) else "")
    figure.suptitle(title, fontsize=12)
    return figure


def _draw_sample(predictions: pd.DataFrame, size: int, seed: int) -> pd.DataFrame:
    """At most one image of each class while there are classes left, so that the picture shows variety."""
    shuffled = predictions.sample(frac=1, random_state=seed)
    turn = shuffled.groupby(shuffled["true"].fillna(shuffled["predicted"])).cumcount()
    return shuffled.iloc[np.argsort(turn.to_numpy(), kind="stable")[:size]]


def _draw_tile(axis: Axes, row: Any) -> None:
    try:
        axis.imshow(read_image(row.path))
    except (OSError, TypeError, ValueError):  # features came from a file and the image is not here
        axis.text(0.5, 0.5, "no image", ha="center", va="center", fontsize=8, color=UNKNOWN, transform=axis.transAxes)
    if pd.isna(row.true):
        caption, colour = _short(row.predicted), UNKNOWN
    elif row.true == row.predicted:
        caption, colour = f"✓ {_short(row.predicted)}", RIGHT
    else:
        caption, colour = f"✗ {_short(row.predicted)}\n({_short(row.true)})", WRONG
    axis.set_title(caption, fontsize=7.5, color=colour, pad=3)


def _short(name: str) -> str:
    name = name.replace("_", " ")
    return name if len(name) <= 22 else f"{name[:21]}…"
