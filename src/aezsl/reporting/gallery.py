"""The picture of test images with their names, and the one that may be shown freely."""

import math
import os
import sys
import textwrap
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aezsl.errors import DataError
from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.kinds import Count, Seed, Settings
from aezsl.machine.files import split_member
from aezsl.reporting.figures import (
    CAPTION_SIZE,
    GREEN,
    GREY,
    LIGHT_GREY,
    LONGEST_NAME,
    RED,
    TEXT_SIZE,
    TITLE_SIZE,
    Figure,
    figure_name,
    new_figure,
    readable_name,
)
from aezsl.reporting.pictures import show_image

#: Inches from one image to the next.
TILE = 1.5


class GallerySettings(Settings):
    """The picture of test images, or of new ones, with their predicted names."""

    rows: Count = 6
    """Rows of images."""
    columns: Count = 10
    """Columns of images."""
    seed: Seed = 0
    """Of the draw: one image per class, then a second one, and so on."""


def draw_gallery(predictions: pd.DataFrame, images: pd.DataFrame, settings: GallerySettings) -> Figure:
    """A grid of seeded, evenly drawn test images: right names in green, wrong ones in red with the true name.

    Of images some of which are not on disk (features may come from a file) those are drawn that are; where there are
    fewer than places the grid is smaller; where there is none, it is a table.
    An image that nobody has named has its file's name below the name it was given and how sure that is.
    """
    places = settings.rows * settings.columns
    drawn = _in_turns(predictions, settings.seed).merge(images[["image_id", "path"]], on="image_id", how="left")
    on_disk = list(islice((row for row, path in enumerate(drawn["path"]) if _is_there(path)), places))
    if len(drawn) and not on_disk:
        figure = _draw_table(drawn.head(places))
        figure.suptitle(_title(predictions), fontsize=TITLE_SIZE, wrap=True)
        return figure
    columns = max(1, min(settings.columns, len(on_disk)))
    rows = max(1, math.ceil(len(on_disk) / columns))
    return _draw_tiles(drawn.iloc[on_disk], rows, columns, _title(predictions))


def _is_there(path: Any) -> bool:
    """Whether an image has a file, of its own or one that it is a member of; a table without it has NaN here."""
    return isinstance(path, str) and os.path.exists((split_member(path) or (path,))[0])


def _draw_tiles(shown: pd.DataFrame, rows: int, columns: int, title: str) -> Figure:
    """One plane for all tiles, in inches from the upper left: axes for each of them would take seconds to lay out."""
    captions = [_caption(row) for row in shown.itertuples()]
    lines = max((text.count("\n") + 1 for text, _ in captions), default=1)
    title = "\n".join(textwrap.wrap(title, round(10 * TILE * columns)))
    top, line = 0.2 * (title.count("\n") + 1) + 0.15, 0.13
    width, height = TILE * columns, TILE + line * lines + 0.08
    figure = new_figure(width, top + height * rows + 0.25, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(top + height * rows + 0.25, 0))
    axes.axis("off")
    axes.text(width / 2, top / 2, title, fontsize=TITLE_SIZE, ha="center", va="center")
    for place, (path, (text, colour)) in enumerate(zip(shown["path"], captions, strict=True)):
        x, y = TILE * (place % columns + 0.5), top + height * (place // columns) + line * lines
        axes.text(x, y, text, fontsize=CAPTION_SIZE, color=colour, ha="center", va="bottom", linespacing=1.1)
        show_image(axes, path, (x - 0.46 * TILE, y + 0.03, 0.92 * TILE))
    axes.set(xlim=(0, width), ylim=(top + height * rows + 0.25, 0))  # pictures have moved them
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


def _in_turns(predictions: pd.DataFrame, seed: int) -> pd.DataFrame:
    """In seeded order, one image of each class in turn, so that the first ones show variety."""
    shuffled = predictions.sample(frac=1, random_state=seed)
    turn = shuffled.groupby(shuffled["true"].fillna(shuffled["predicted"])).cumcount()
    return shuffled.iloc[np.argsort(turn.to_numpy(), kind="stable")]


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
    """How sure a name is: its probability; and where that is too little, what is said instead."""
    group = getattr(row, "group", "")
    instead = f" ({group} {row.group_probability:.0%})" if group else f" ({NONE_OF_THESE})" if row.none_of_these else ""
    return f"{row.probability:.0%}{instead}"


def _true_name(row: Any) -> str:
    return "" if pd.isna(row.true) else figure_name(row.true)


def _caption(row: Any) -> tuple[str, str]:
    """What stands above an image, and in which colour."""
    named = _wrapped(row.predicted)
    if pd.isna(row.true):
        file = _wrapped(Path(str(row.image_id)).name, is_file=True)
        return f"{named} {surely(row)}\n{file}", GREY
    if row.true == row.predicted:  # a tick says it too, for readers who do not see the colour
        return f"✓ {named}", GREEN
    return f"✗ {named}\n({_wrapped(row.true)})", RED


def _wrapped(name: str, is_file: bool = False) -> str:
    """A name in two lines at most, for matplotlib. is_file : it keeps its underscores."""
    name = name if is_file else readable_name(name)
    return "\n".join(textwrap.wrap(name, LONGEST_NAME, max_lines=2, placeholder="…")).replace("$", r"\$")


#: Artists of the default benchmark whose drawings anybody may show, and what must be said with them.
ATTRIBUTIONS = {
    "Twtr": "Twemoji by Twitter, Inc and other contributors, CC BY 4.0",
    "OpenMoji": "OpenMoji, the open-source emoji and icon project, CC BY-SA 4.0",
}
LAYOUT = GallerySettings(rows=4, columns=8)


def draw_free_gallery(predictions: pd.DataFrame, images: pd.DataFrame) -> Figure:
    """As ``draw_gallery``, of drawings by these artists only, who are named below them."""
    shown = predictions[predictions["image_id"].str.partition("/")[0].isin(set(ATTRIBUTIONS))]
    if shown.empty:
        raise DataError("no drawing of Twemoji or OpenMoji is among the predictions: run the default benchmark")
    figure = draw_gallery(shown, images, LAYOUT)
    text = f"Drawings: {'; '.join(ATTRIBUTIONS.values())}"
    figure.text(0.5, 0.08 / figure.get_figheight(), text, fontsize=CAPTION_SIZE, color=GREY, ha="center", va="bottom")
    return figure


def main(place: str, method: str = "aezsl_lr") -> None:
    """Write the picture, in the sizes of a page."""
    predictions = pd.read_parquet(Path("data/07_model_output/emoji") / method / "predictions.parquet")
    images = pd.read_parquet("data/03_primary/emoji/images.parquet")
    draw_free_gallery(predictions, images).savefig(place, dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:])
