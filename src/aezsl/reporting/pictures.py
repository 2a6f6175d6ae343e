"""Image files in figures, and figures in the page."""

from base64 import b64encode
from io import BytesIO
from pathlib import Path

from aezsl.errors import DataError
from aezsl.formats.images import read_image
from aezsl.reporting.style import CAPTION_SIZE, GREY, Axes


def show_image(axes: Axes, path: str | None) -> None:
    """The image, or a word where there is none: features may come from a file, without images."""
    axes.axis("off")
    try:
        if not isinstance(path, str):  # a table without this image has NaN here
            raise DataError("no image")
        axes.imshow(read_image(path))
    except DataError:
        axes.annotate(
            "no image", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", size=CAPTION_SIZE, color=GREY
        )


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
