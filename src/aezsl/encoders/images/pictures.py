"""Pictures to features by networks in memory: one answer needs no table and no store."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image

from aezsl.arrays import Float32, unit_rows
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.engine import Run, available_cores
from aezsl.encoders.images.preprocessing import Preprocess, least_size
from aezsl.errors import DataError
from aezsl.formats.images import UnreadableImageError, as_seen, read_image
from aezsl.machine.workers import Workers, working_on

#: An image by its path, its content, or opened.
Picture = str | Path | bytes | Image.Image

#: Opened pictures may share a file, or be one and the same: they are read one at a time.
_SHARED = Lock()

#: Pictures -> (n, d).
Encode = Callable[[Sequence[Picture]], Float32]


def _opened(number: int | None, picture: Picture, at_least: int) -> Image.Image:
    """One of several pictures as it is seen; what cannot be read is named, by its number where it has no name."""
    unnamed = "the image" if number is None else f"image {number}"
    name = str(picture) if isinstance(picture, str | Path) else unnamed
    if not isinstance(picture, str | Path | bytes | Image.Image):
        raise DataError(f"{name} is a {type(picture).__name__}: give images by path, as bytes, or as PIL images")
    if not isinstance(picture, Image.Image):
        return read_image(picture, name, at_least)
    try:
        with _SHARED:
            return as_seen(picture)
    except Exception as error:  # opened, but its file is damaged further on
        raise UnreadableImageError(f"{name} cannot be read as an image ({type(error).__name__}: {error})") from error


def _look_at(engines: Sequence[tuple[Preprocess, Run, int]], numbered: Sequence[tuple[int | None, Picture]]) -> Float32:
    """Features (n, d) of pictures by all networks, each picture decoded once for those that want it of one size."""
    pixels: list[list[Float32]] = [[] for _ in engines]
    for number, picture in numbered:
        opened: dict[int, Image.Image] = {}
        for own, (preprocess, _, at_least) in zip(pixels, engines, strict=True):
            if at_least not in opened:
                opened[at_least] = _opened(number, picture, at_least)
            own.append(preprocess(opened[at_least]))
    parts = [network(np.stack(own)) for own, (_, network, _) in zip(pixels, engines, strict=True)]
    return parts[0] if len(parts) == 1 else np.hstack([unit_rows(part).astype(np.float32) for part in parts])


def load_encode(backbones: Sequence[Backbone], side_by_side: bool = False, batch_size: int = 8) -> Encode:
    """What gives features (n, d) of images, with all networks in memory; see ``ImageEncoder.load``."""
    n_cores = available_cores()
    with working_on(Workers()) if side_by_side else nullcontext():  # which leaves a network one core
        loaded = [backbone.load() for backbone in backbones]
    engines = [(preprocess, network, least_size(preprocess)) for preprocess, network in loaded]
    # One pool for all who ask: more threads than cores would only take turns.
    run_all = ThreadPoolExecutor(n_cores).map if side_by_side else map

    def encode(pictures: Sequence[Picture]) -> Float32:
        numbers = range(len(pictures)) if len(pictures) > 1 else [None]
        numbered = list(zip(numbers, pictures, strict=True))
        size = min(batch_size, -(-len(numbered) // n_cores)) if side_by_side else batch_size
        pieces = [numbered[i : i + size] for i in range(0, len(numbered), size)]
        return np.concatenate(list(run_all(partial(_look_at, engines), pieces)))

    return encode
