"""What the network sees of an image while it learns, and afterwards."""

import math

import numpy as np
import pytest
from PIL import Image

from aezsl.encoders.images.end_to_end import CROP_AREA, centre_crop, pixels, random_crop
from aezsl.encoders.images.preprocessing import make_preprocess
from aezsl.encoders.torchvision import torchvision
from aezsl.errors import DataError

IMAGE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)).resize((600, 450))


def test_the_centre_is_what_torchvision_prepares():
    transform = torchvision.models.get_model_weights("googlenet").DEFAULT.transforms()
    np.testing.assert_allclose(pixels(centre_crop(IMAGE, 224)), transform(IMAGE).numpy(), atol=0.02)


def test_crops_are_within_their_bounds_and_mirrored_half_the_time():
    # Red grows with x, green with y: a crop tells where it was taken.
    ramp = np.zeros((200, 300, 3), dtype=np.uint8)
    ramp[..., 0], ramp[..., 1] = np.linspace(0, 255, 300), np.linspace(0, 255, 200)[:, None]
    areas, mirrored, rng = [], 0, np.random.default_rng(0)
    for _ in range(200):
        crop = np.asarray(random_crop(Image.fromarray(ramp), 50, rng), dtype=float)
        width, height = np.ptp(crop[..., 0]) / 255, np.ptp(crop[..., 1]) / 255
        areas.append(width * height)
        mirrored += crop[0, 0, 0] > crop[0, -1, 0]
    assert min(areas) > CROP_AREA[0] * 0.8
    assert max(areas) > 0.8
    assert math.isclose(mirrored / 200, 0.5, abs_tol=0.1)


def test_a_long_image_has_crops_too():
    assert random_crop(Image.new("RGB", (2000, 3)), 32, np.random.default_rng(0)).size == (32, 32)


def test_images_too_thin_to_be_scaled_are_refused():
    with pytest.raises(DataError, match="60000 x 1"):
        centre_crop(Image.new("RGB", (60_000, 1)), 224)
    assert centre_crop(Image.new("RGB", (400, 2)), 224).size == (224, 224)
    with pytest.raises(DataError, match="1 x 900"):
        make_preprocess("googlenet")(Image.new("RGB", (1, 900)))
    assert make_preprocess("efficientnet_lite0")(Image.new("RGB", (60_000, 1))).shape == (3, 224, 224)
