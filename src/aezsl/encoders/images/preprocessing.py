"""How each network wants its images. Imports torch only for networks whose own preparation needs it."""

from collections.abc import Callable

import numpy as np
from PIL import Image

from aezsl.arrays import Float32
from aezsl.encoders.pretrained import is_hub_model, model_folder
from aezsl.errors import DataError
from aezsl.formats.images import DRAFT_SIZE

#: RGB image -> (3, height, width).
Preprocess = Callable[[Image.Image], Float32]

#: Raised whenever the same image file would give other pixels, so that no stored feature outlives the code it is from.
PREPROCESSING = 4

#: Pixels of a side that each network of the EfficientNet-Lite family was trained with.
LITE_SIZES = {"efficientnet_lite0": 224, "efficientnet_lite1": 240, "efficientnet_lite2": 260}

#: How many times as long as the other one a side of an image may be.
LONGEST = 200


def make_preprocess(name: str) -> Preprocess:
    """The preparation of the network called ``name``."""
    if name in LITE_SIZES:
        return _lite(LITE_SIZES[name])
    return _of_bounded_shape(_processor(name) if is_hub_model(name) else _torchvision(name))


def check_shape(image: Image.Image) -> None:
    """Refuse an image so thin that, once its shorter side is as long as a network wants it, it would fill memory."""
    if max(image.size) > LONGEST * min(image.size):
        raise DataError(
            f"one side of an image may be {LONGEST} times as long as the other for this network, got "
            f"{image.width} x {image.height}: crop it, or take it out"
        )


def _of_bounded_shape(preprocess: Preprocess) -> Preprocess:
    """Others bring the shorter side to their size before they cut."""

    def checked(image: Image.Image) -> Float32:
        check_shape(image)
        return preprocess(image)

    return checked


def least_size(preprocess: Preprocess) -> int:
    """Pixels of a side that an image must keep while it is decoded: somewhat more than the network looks at."""
    side = int(max(preprocess(Image.new("RGB", (64, 64))).shape[1:]))
    return max(DRAFT_SIZE, side * 8 // 7)


def _lite(size: int) -> Preprocess:
    """Centre square of size / (size + 32) of the shorter side, bicubic to ``size``, (pixel - 127) / 128."""

    def preprocess(image: Image.Image) -> Float32:
        side = max(1, int(min(image.size) * size / (size + 32)))
        left, top = (image.width - side) // 2, (image.height - side) // 2
        # Cropped first: resize(box=...) would let pixels from outside the square into its border.
        square = image.crop((left, top, left + side, top + side))
        pixels = np.asarray(square.resize((size, size), Image.Resampling.BICUBIC))
        planes = np.empty((3, size, size), dtype=np.float32)
        np.subtract(pixels.transpose(2, 0, 1), np.float32(127), out=planes)
        planes *= np.float32(1 / 128)  # exact, as is the division
        return planes

    return preprocess


def _torchvision(name: str) -> Preprocess:
    """As the published weights of a model of torchvision ask for."""
    from aezsl.encoders.images.networks import torchvision_models

    transform = torchvision_models(name).get_model_weights(name).DEFAULT.transforms()

    def preprocess(image: Image.Image) -> Float32:
        pixels: Float32 = transform(image).numpy()
        return pixels

    return preprocess


def _processor(name: str) -> Preprocess:
    """By the processor that lies beside a model of transformers."""
    from aezsl.encoders.pretrained import load_processor

    processor = load_processor(model_folder(name))

    def preprocess(image: Image.Image) -> Float32:
        pixels: Float32 = np.asarray(processor(images=image, return_tensors="np")["pixel_values"][0], dtype=np.float32)
        return pixels

    return preprocess
