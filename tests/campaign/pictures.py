"""Images: damaged ones are refused or read, whole ones are read as a person would see them."""

import io
import os
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from aezsl.formats.images import read_image
from tests.campaign.damage import damaged, pick
from tests.helpers.deep_images import png16, tiff

#: Formats that keep every pixel, with the modes that each can hold.
LOSSLESS = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "TIFF": ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"),
    "BMP": ("1", "L", "P", "RGB"),
    "TGA": ("L", "P", "RGB", "RGBA"),
    "PPM": ("1", "L", "RGB", "I;16"),
    "GIF": ("1", "L", "P"),
    "PCX": ("1", "L", "P", "RGB"),
    "WEBP": ("RGB",),
}
OPTIONS = {"WEBP": {"lossless": True, "exact": True}}
LOSSY = ("JPEG", "JPEG2000", "ICO", "AVIF", "MPO")


def _pixels(rng, mode):
    height, width = (int(side) for side in rng.integers(1, 40, size=2))
    if mode == "I;16":
        return Image.fromarray(rng.integers(65536, size=(height, width)).astype(np.uint16))
    if mode == "I":
        return Image.fromarray(rng.integers(65536, size=(height, width)).astype(np.int32))
    if mode == "F":
        return Image.fromarray(rng.random((height, width)).astype(np.float32))
    colours = Image.fromarray(rng.integers(256, size=(height, width, 3), dtype=np.uint8))
    image = colours.convert(mode)
    if mode in ("LA", "RGBA"):
        image.putalpha(Image.fromarray(rng.integers(256, size=(height, width), dtype=np.uint8)))
    return image


def _as_seen(image):
    """What a person sees, written out again: grey of any depth by its share of white, transparency on white."""
    if image.mode in ("I;16", "I", "F"):
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0
        if image.mode == "F":
            top = 1.0
        elif image.mode == "I":
            top = 255.0 if values.max() <= 255 else 65535.0
        grey = np.rint(values / top * 255)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode in ("LA", "RGBA"):
        rgba = np.asarray(image.convert("RGBA"), dtype=np.float64)
        opacity = rgba[..., 3:] / 255
        return rgba[..., :3] * opacity + 255 * (1 - opacity)
    return np.asarray(image.convert("RGB"), dtype=np.float64)


def whole_image(rng):
    """Any mode in any format that keeps it, turned as cameras turn, or the first of several: seen as it is."""
    kind = pick(rng, LOSSLESS)
    image = _pixels(rng, pick(rng, LOSSLESS[kind]))
    options = dict(OPTIONS.get(kind, {}))
    turned = int(rng.integers(1, 9)) if kind in ("PNG", "TIFF", "WEBP") and rng.random() < 0.4 else 1
    if turned > 1:
        exif = Image.Exif()
        exif[0x0112] = turned
        options["exif"] = exif
    elif kind in ("GIF", "TIFF") and image.mode in ("L", "P", "RGB") and rng.random() < 0.5:
        options |= {"save_all": True, "append_images": [_pixels(rng, image.mode).resize(image.size) for _ in range(2)]}
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    expected = _as_seen(image)
    if turned > 1:
        upright = Image.fromarray(expected.round().astype(np.uint8))
        upright.getexif()[0x0112] = turned
        expected = np.asarray(ImageOps.exif_transpose(upright), dtype=np.float64)
    seen = np.asarray(read_image(buffer.getvalue()), dtype=np.float64)
    return seen.shape == expected.shape and bool(np.abs(seen - expected).max() <= 1)


def deep_image(rng):
    """Grey values of many bits as instruments write them, and colours of 16 bits with one that is transparent."""
    height, width = (int(side) for side in rng.integers(2, 12, size=2))
    values = rng.integers(65536, size=(height, width))
    match rng.integers(5):
        case 0:  # 0 is white
            content, expected = tiff(values.astype("<u2"), photometric=0), 255 - values / 257
        case 1:
            content, expected = tiff(values.astype(">u2")), values / 257
        case 2:
            content, expected = tiff((values >> 4).astype("<u2"), bits=12), (values >> 4) * 255 / 4095
        case 3:  # more than a signed number holds
            content = tiff(values.astype("<u4") * 65537)
            expected = (values - values.min()) / max(1, np.ptp(values)) * 255
        case _:
            colours = rng.integers(65536, size=(height, width, 3)).astype(">u2")
            clear = colours[0, 0]
            content = png16(colours, clear)
            expected = np.where(((colours >> 8) == (clear >> 8)).all(axis=-1, keepdims=True), 255, colours / 257)
    seen = np.asarray(read_image(content), dtype=np.float64)
    expected = np.repeat(expected[..., None], 3, axis=2) if expected.ndim == 2 else expected
    return seen.shape == expected.shape and bool(np.abs(seen - expected).max() <= 1)


def damaged_image(rng):
    """A damaged file of any format: refused, or an RGB picture of bounded size."""
    kind = pick(rng, [*LOSSLESS, *LOSSY])
    image = _pixels(rng, pick(rng, LOSSLESS[kind]) if kind in LOSSLESS else "RGB")
    buffer = io.BytesIO()
    image.save(buffer, kind)
    found = read_image(damaged(buffer.getvalue(), rng))
    return found.mode == "RGB" and found.width * found.height <= 50_000_000


def strange_file(rng):
    """Something else under the name of an image: never read, never waited for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{pick(rng, ('.png', '.jpg', '.tif', '.gif'))}"
        match rng.integers(6):
            case 0:
                os.mkfifo(path)
            case 1:
                path.symlink_to(
                    pick(rng, ("/dev/zero", "/dev/tty", "/dev/random", path.name, "nowhere", "/proc/self/mem"))
                )
            case 2:
                path.mkdir()
            case 3:
                path.write_bytes(rng.bytes(int(rng.integers(0, 300))))
            case 4:
                path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(" + rng.bytes(9) + b") run\n")
            case _:  # claims more pixels than anybody can hold
                side = int(rng.integers(20_000, 60_000))
                header = b"P5 %d %d 255\n" % (side, side)
                path.write_bytes(header + bytes(int(rng.integers(100))))
        read_image(path)
    return False
