"""Images as a person would see them, whatever the file keeps them as."""

import os
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from aezsl.formats import images
from aezsl.formats.images import UnreadableImageError, read_content, read_image
from tests.helpers.deep_images import png16, tiff
from tests.helpers.trees import refused

#: A ramp from black to white, of which no file may lose more than compression does.
RAMP = np.tile(np.arange(256, dtype=np.uint8), (16, 1))


def content(image, kind, **options):
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def grey(source):
    pixels = np.asarray(read_image(source)).astype(int)
    assert np.ptp(pixels, axis=2).max() <= 2  # compression colours a little
    return pixels[..., 0]


@pytest.mark.parametrize(
    ("kind", "dtype", "scale"),
    [
        ("PNG", np.uint16, 257),
        ("TIFF", np.uint16, 257),
        ("TIFF", np.int32, 257),
        ("TIFF", np.int32, 1),
        ("TIFF", np.int32, 10**6),
        ("TIFF", np.float32, 1),
        ("TIFF", np.float32, 1 / 255),
    ],
)
def test_grey_values_of_any_depth_keep_their_brightness(kind, dtype, scale):
    image = Image.fromarray((RAMP.astype(np.float64) * scale).astype(dtype))
    np.testing.assert_allclose(grey(content(image, kind)), RAMP, atol=1)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (tiff(RAMP.astype("<u2") * 257, photometric=0), 255 - RAMP),
        (tiff(RAMP.astype(">u2") * 257), RAMP),
        (tiff(RAMP.astype("<u2") * 16, bits=12), RAMP),
        (tiff(RAMP.astype("<u4") * 16843009), RAMP),
    ],
    ids=["white is zero", "big-endian", "12 bits", "32 bits without a sign"],
)
def test_grey_values_mean_what_the_file_says(written, shown):
    np.testing.assert_allclose(grey(written), shown, atol=1)


def test_a_transparent_colour_of_16_bits_is_white():
    colours = np.zeros((2, 2, 3), dtype=">u2")
    colours[0, 0] = clear = np.array([40_000, 300, 70], dtype=">u2")
    assert np.asarray(read_image(png16(colours, clear))).tolist() == [[[255] * 3, [0] * 3], [[0] * 3, [0] * 3]]


def test_floats_of_any_size_have_a_brightness_and_none_is_none():
    values = ((RAMP.astype(np.float64) - 127.5) * 2e36).astype(np.float32)
    np.testing.assert_allclose(grey(content(Image.fromarray(values), "TIFF")), RAMP, atol=1)
    with pytest.raises(UnreadableImageError):
        read_image(content(Image.fromarray(np.full((2, 2), np.nan, dtype=np.float32)), "TIFF"))


def test_dark_16_bit_images_stay_dark():
    assert grey(content(Image.fromarray(np.full((4, 4), 3000, dtype=np.uint16)), "PNG")).max() == 12


def test_floats_without_a_range_are_spread_over_theirs():
    values = (RAMP.astype(np.float32) - 128) * 40
    values[0, 0], values[0, 1] = np.nan, np.inf
    np.testing.assert_allclose(grey(content(Image.fromarray(values), "TIFF"))[1:], RAMP[1:], atol=1)


@pytest.mark.parametrize(
    ("kind", "modes"),
    [
        ("PNG", "L P LA RGB RGBA"),
        ("TIFF", "L P LA RGB RGBA CMYK YCbCr"),
        ("JPEG", "L RGB CMYK YCbCr"),
        ("WEBP", "L P LA RGB RGBA CMYK YCbCr"),
        ("GIF", "L P LA RGB RGBA"),
        ("BMP", "L P RGB RGBA"),
    ],
)
def test_every_mode_of_every_kind_shows_the_same_picture(kind, modes):
    tolerance = {"WEBP": 8, "JPEG": 3, "GIF": 8}.get(kind, 0)
    for mode in modes.split():
        data = content(Image.fromarray(RAMP).convert(mode), kind)
        np.testing.assert_allclose(grey(data), RAMP, atol=tolerance)


def test_lab_becomes_what_it_looks_like():
    assert grey(content(Image.new("LAB", (4, 4), (255, 128, 128)), "TIFF")).min() >= 253


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (Image.new("RGBA", (4, 4), (0, 0, 0, 0)), {}),
        (Image.new("LA", (4, 4), (0, 0)), {}),
        (Image.new("RGB", (4, 4)), {"transparency": (0, 0, 0)}),
        (Image.new("L", (4, 4)), {"transparency": 0}),
        (Image.new("P", (4, 4)), {"transparency": 0}),
        (Image.new("I;16", (4, 4)), {"transparency": 0}),
    ],
)
def test_what_is_transparent_is_white(image, options):
    assert grey(content(image, "PNG", **options)).min() == 255


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("orientation", "corner"), [(1, (0, 0)), (3, (-1, -1)), (6, (0, -1)), (8, (-1, 0)), (2, (0, -1)), (99, (0, 0))]
)
def test_photos_are_upright(kind, orientation, corner):
    pixels = np.zeros((40, 60), dtype=np.uint8)
    pixels[:16, :16] = 255
    image = Image.fromarray(pixels).convert("RGB")
    exif = image.getexif()
    exif[0x112] = orientation
    seen = np.asarray(read_image(content(image, kind, exif=exif)))[..., 0]
    assert seen.shape == ((60, 40) if orientation in (6, 8) else (40, 60))
    assert seen[corner] > 200
    assert (seen > 128).mean() < 0.2


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_an_animation_the_first_picture_is_seen(kind):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    data = content(frames[0], kind, save_all=True, append_images=frames[1:])
    np.testing.assert_allclose(np.asarray(read_image(data))[0, 0], [255, 0, 0], atol=4)


def test_large_pictures_are_refused_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(images, "MAX_PIXELS", 10_000)
    with pytest.raises(UnreadableImageError, match=r"big\.png"):
        read_image(content(Image.new("1", (200, 200)), "PNG"), "big.png")
    photo = Image.new("RGB", (700, 700))
    monkeypatch.setattr(images, "MAX_PIXELS", 200_000)
    assert read_image(content(photo, "JPEG")).size == (350, 350)  # decoded at half its size
    with pytest.raises(UnreadableImageError):
        read_image(content(photo, "JPEG", progressive=True))


def test_only_regular_files_of_bounded_size_are_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.png")
    with refused("pipe.png"):
        read_image(tmp_path / "pipe.png")
    for path in ("/dev/zero", tmp_path):
        with refused(path):
            read_image(path)
    with refused("none.png"):
        read_image(tmp_path / "none.png")
    with refused():
        read_image(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (tmp_path / "long.png").write_bytes(bytes(20))
    monkeypatch.setattr(images, "MAX_BYTES", 10)
    with refused("long.png"):
        read_content(tmp_path / "long.png")


def test_what_no_reader_knows_is_told_with_what_would_read_it(monkeypatch):
    monkeypatch.setattr("aezsl.formats.images._HEIF", False)
    for name, hinted in (("notes.txt", False), ("IMG_1.HEIC", True)):
        with pytest.raises(UnreadableImageError, match="save it as JPEG or PNG") as refused:
            read_image(b"of no format", name)
        assert ("install pillow-heif" in str(refused.value)) == hinted


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG", "WEBP", "GIF", "BMP"])
def test_damaged_files_are_refused_by_name(kind):
    data = content(Image.fromarray(RAMP).convert("RGB"), kind)
    rng = np.random.default_rng(0)
    messages = []
    for _ in range(40):
        damaged = bytearray(data[: rng.integers(1, len(data))])
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        try:
            assert read_image(bytes(damaged), "x.png").mode == "RGB"
        except UnreadableImageError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(message.startswith("x.png ") for message in messages)
