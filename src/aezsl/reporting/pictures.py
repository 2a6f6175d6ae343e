"""Images inside the page, so that it is one file."""

from base64 import b64encode
from io import BytesIO
from pathlib import Path


def data_uri(path: str | Path | None, width: int) -> str:
    """The image scaled down to a width, as a data URI; empty where there is no such image."""
    from PIL import Image, UnidentifiedImageError

    if not path:
        return ""
    try:
        with Image.open(path) as file:
            image = file.convert("RGBA")
    except (OSError, UnidentifiedImageError):
        return ""
    image.thumbnail((width, 4 * width))
    white = Image.new("RGBA", image.size, "white")  # transparent drawings are made for light paper
    buffer = BytesIO()
    Image.alpha_composite(white, image).convert("RGB").save(buffer, "WEBP", quality=82)
    return f"data:image/webp;base64,{b64encode(buffer.getvalue()).decode()}"
