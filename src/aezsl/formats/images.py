"""Image files as a person would see them: every mode, upright, on white, the first picture of several. Nothing else.

The one place where images are decoded: training, ``predict``, the service and the report all see the same pixels.
"""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError, features

from aezsl.errors import DataError
from aezsl.machine.files import read_member, split_member

#: Decoding hint for JPEG files: sides of at least this size, so that a 12-megapixel photo is not decoded in full.
DRAFT_SIZE = 320
#: Pixels that are decoded at most: 200 MB as RGB, some 600 MB where a mode must be converted. JPEG files may have more,
#: unless they are progressive: they are decoded at a fraction of their size.
MAX_PIXELS = 50_000_000
#: Size of a file that is read at most; 50 million pixels of three times 16 bits are 300 MB.
MAX_BYTES = 512 * 1024 * 1024

_HEIF = find_spec("pillow_heif") is not None
_AVIF = features.check("avif")
#: What phones make, and Pillow alone does not read.
HEIF_SUFFIXES = ".heic", ".heif"
#: Suffixes of files that are taken for images. HEIC where the package pillow-heif is installed.
IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"),
    *((".avif",) if _AVIF else ()),
    *(HEIF_SUFFIXES if _HEIF else ()),
)
#: What a file may be, whatever its suffix. Formats that run a program (EPS) or fetch something else are left out.
FORMATS = (
    *("JPEG", "PNG", "WEBP", "BMP", "DIB", "GIF", "TIFF", "JPEG2000", "PPM", "TGA", "PCX", "ICO"),
    *(("AVIF",) if _AVIF else ()),
    *(("HEIF",) if _HEIF else ()),
)

#: How addresses of the web begin: images are read from files alone.
ADDRESSES = ("http://", "https://", "ftp://", "data:")

#: What an image must be turned by, by the number that cameras write down.
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class UnreadableImageError(DataError):
    """An image file cannot be decoded."""


def read_image(source: str | Path | bytes | IO[bytes], name: str = "", at_least: int = DRAFT_SIZE) -> Image.Image:
    """An image as RGB, upright, on white where it is transparent; of an animation the first picture.

    source : a file, or the content of one, whose ``name`` is then for the message. Only regular files are opened: a
        pipe or a device could keep the reader waiting for ever.
    at_least : pixels of a side that a JPEG file may be scaled down to while it is decoded.
    """
    if isinstance(source, (str, Path)):
        name, source = name or str(source), read_content(source)
    stream = BytesIO(source) if isinstance(source, bytes) else source
    try:
        return _decode(stream, at_least)
    except DataError as error:
        raise UnreadableImageError(f"{name or 'the image'} {error}") from error
    except UnidentifiedImageError as error:
        ways = ", install pillow-heif" if not _HEIF and Path(name).suffix.lower() in HEIF_SUFFIXES else ""
        raise UnreadableImageError(
            f"{name or 'the image'} cannot be read as an image (its content is of no format that is known here): "
            f"save it as JPEG or PNG{ways}, or take it out"
        ) from error
    except Exception as error:  # decoders of damaged files fail in their own ways: struct.error, zlib.error, ...
        reason = f"{type(error).__name__}: {error}"
        raise UnreadableImageError(
            f"{name or 'the image'} cannot be read as an image ({reason}): repair it, or take it out"
        ) from error


def read_content(path: str | Path) -> bytes:
    """The bytes of a regular file of bounded size, or of a member of an archive (``files.member_path``)."""
    if str(path).startswith(ADDRESSES):
        raise UnreadableImageError(f"{path} is an address, and nothing is fetched here: save the image, give its file")
    file = Path(path)
    member = split_member(path)
    try:
        if member:
            if member[2] > MAX_BYTES:
                raise UnreadableImageError(f"{path} has {member[2]} bytes, at most {MAX_BYTES} are read")
            return read_member(*member)
        if not file.is_file():
            what = "is not a regular file" if file.exists() else "does not exist"
            raise UnreadableImageError(f"{file} {what}: give an image file")
        if (size := file.stat().st_size) > MAX_BYTES:
            raise UnreadableImageError(f"{file} has {size} bytes, at most {MAX_BYTES} are read: make it smaller")
        return file.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, UnreadableImageError):
            raise
        raise UnreadableImageError(f"{file} cannot be read ({error}): give an image file that can be opened") from error


def _decode(stream: IO[bytes], at_least: int) -> Image.Image:
    if _HEIF:
        import pillow_heif

        pillow_heif.register_heif_opener()
    with Image.open(stream, formats=FORMATS) as image:
        n_full = image.width * image.height
        image.draft("RGB", (at_least, at_least))
        # A progressive file is held whole while it is decoded, at whichever size.
        n_pixels = n_full if image.info.get("progressive") else image.width * image.height
        if n_pixels > MAX_PIXELS:
            raise DataError(f"has {n_pixels} pixels, at most {MAX_PIXELS} are decoded: make it smaller")
        return as_seen(image)


def as_seen(image: Image.Image) -> Image.Image:
    """An open image as RGB, upright, on white where it is transparent."""
    if any("RGB;16" in str(tile[3]) for tile in getattr(image, "tile", ())):
        _in_eight_bits(image.info)
    image.load()
    orientation = _orientation(image)
    seen = _as_rgb(image)
    return seen.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else seen


def _in_eight_bits(info: dict[Any, Any]) -> None:
    """Of colours of 16 bits Pillow keeps the upper 8: the one that is transparent must follow."""
    if isinstance(colour := info.get("transparency"), tuple):
        info["transparency"] = tuple(value >> 8 for value in colour)


def _orientation(image: Image.Image) -> int | None:
    try:
        return image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # notes of a camera that cannot be parsed: the picture itself is whole
        return None


def _as_rgb(image: Image.Image) -> Image.Image:
    """RGB, on white where it is transparent."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        grey = Image.fromarray(_grey(image))
        return grey.convert("RGB")
    if image.mode == "LAB":
        from PIL import ImageCms

        profiles = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        image = ImageCms.applyTransform(image, ImageCms.buildTransform(*profiles, "LAB", "RGB")) or image
    transparent = "transparency" in image.info or image.mode in ("LA", "La", "PA", "RGBA", "RGBa")
    if not transparent:
        return image.convert("RGB")
    if image.mode in ("La", "RGBa"):  # colours multiplied by their opacity
        image = image.convert({"La": "LA", "RGBa": "RGBA"}[image.mode])
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")


class _GreyTags(NamedTuple):
    """What a TIFF file says of its grey values, and Pillow passes over for those of more than 8 bits."""

    bits: int = 0
    unsigned: bool = False
    white_is_zero: bool = False

    @classmethod
    def of(cls, image: Image.Image) -> "_GreyTags":
        tags = getattr(image, "tag_v2", None) or {}
        bits, kind = (np.atleast_1d(tags.get(number, 0)).item(0) for number in (258, 339))
        return cls(int(bits), kind in (0, 1), tags.get(262) == 0) if tags else cls()


def _grey(image: Image.Image) -> NDArray[np.uint8]:
    """Grey values of more than 8 bits in 8: 12 and 16 bits as a part of their range, others by what values they have.

    Whole numbers of 32 bits and floating ones have no range of their own: 0 .. 1 and 0 .. 255 are taken for what they
    look like, whole numbers up to 65535 for 16 bits; anything else from its smallest to its largest value.
    """
    tags = _GreyTags.of(image)
    stored = np.array(image)
    if tags.unsigned and stored.dtype == np.int32:  # Pillow takes the upper half of the range for negative numbers
        stored = stored.view(np.uint32)
    values = stored.astype(np.float32)
    finite = np.isfinite(values)
    if not finite.any():
        raise DataError("has no pixel that is a number: save it again, or take it out")
    low, high = (
        float(extreme(values, where=finite, initial=start)) for extreme, start in ((np.min, np.inf), (np.max, -np.inf))
    )
    sixteen = image.mode.startswith("I;16") or image.format in ("PNG", "PPM")  # some versions open these as I
    if sixteen:
        low, high = 0.0, 4095.0 if tags.bits == 12 else 65535.0
    elif low >= 0:
        ranges = (1.0, 255.0) if image.mode == "F" else (255.0, 65535.0)
        high = next((top for top in ranges if high <= top), high)
        low = 0.0 if high in ranges else low
    see_through = image.info.get("transparency")
    clear = values == see_through if sixteen and isinstance(see_through, int) else None
    np.nan_to_num(values, copy=False, nan=low, posinf=high, neginf=low)
    if high - low > float(np.finfo(np.float32).max):  # the difference, and not only its ends, must be a number
        values /= 2
        low, high = low / 2, high / 2
    values -= low
    values *= 255 / ((high - low) or 1.0)
    np.rint(np.clip(values, 0, 255, out=values), out=values)
    grey = values.astype(np.uint8)
    if tags.white_is_zero:
        grey = 255 - grey
    if clear is not None:
        grey[clear] = 255
    return grey
