"""Image files in figures, and figures in the page."""

from base64 import b64encode
from io import BytesIO
from pathlib import Path

from aezsl.errors import DataError
from aezsl.formats.images import read_image
from aezsl.reporting.figures import CAPTION_SIZE, GREY, Axes

#: Pixels of an image's longer side beyond which a small picture shows no more of it.
SHARPEST = 400


def show_image(axes: Axes, path: str | None, square: tuple[float, float, float] | None = None) -> None:
    """The image, or a word where there is none: features may come from a file, without images.

    square : left, upper edge and width of the part of the axes that the image fits into; without, it has them all.
    """
    axes.axis("off")
    try:
        if not isinstance(path, str):  # a table without this image has NaN here
            raise DataError("no image")
        image = read_image(path)
    except DataError:
        x, y = (0.5, 0.5) if square is None else (square[0] + square[2] / 2, square[1] + square[2] / 2)
        where = "axes fraction" if square is None else "data"
        axes.annotate("no image", (x, y), xycoords=where, ha="center", va="center", size=CAPTION_SIZE, color=GREY)
        return
    if square is None:
        axes.imshow(image)
        return
    left, top, size = square
    width, height = (size * side / max(image.size) for side in image.size)
    x, y = left + (size - width) / 2, top + (size - height) / 2
    image.thumbnail((SHARPEST, SHARPEST))
    axes.imshow(image, extent=(x, x + width, y + height, y), aspect="auto")


def data_uri(path: Path | bytes | None, width: int | None = None) -> str:
    """A picture, of a file or its content, as a data URI, so that the page is one file; empty where there is none.

    Without a ``width`` it is shown as it is, which suits line drawings. With one it is scaled down to it and
    compressed as photographs are.
    """
    try:
        image = read_image(path) if path else None
    except DataError:  # a run that was interrupted may leave half a file
        image = None
    if image is None:
        return ""
    if width is not None:
        image.thumbnail((width, 4 * width))
    buffer = BytesIO()
    image.save(buffer, "WEBP", lossless=width is None, quality=82)
    return f"data:image/webp;base64,{b64encode(buffer.getvalue()).decode()}"
