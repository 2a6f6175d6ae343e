"""The picture of the default benchmark that may be shown anywhere: drawings under free licences, with their artists.

``python -m aezsl.reporting.free_gallery .images/gallery.png`` draws it from the results of ``kedro run``.
"""

import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from aezsl.errors import DataError
from aezsl.reporting.gallery import draw_gallery
from aezsl.reporting.style import CAPTION_SIZE, GREY

#: Artists of the default benchmark whose drawings anybody may show, and what must be said with them.
ATTRIBUTIONS = {
    "Twtr": "Twemoji by Twitter, Inc and other contributors, CC BY 4.0",
    "OpenMoji": "OpenMoji, the open-source emoji and icon project, CC BY-SA 4.0",
}
LAYOUT = {"rows": 4, "columns": 8, "seed": 0}


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
