"""Training from images: GoogLeNet as an encoder that learns with the rest. Imports torch: import only where needed."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from aezsl.encoders.images.engine import available_cores
from aezsl.encoders.images.networks import googlenet_classifier
from aezsl.encoders.images.preprocessing import check_shape
from aezsl.formats.images import read_image
from aezsl.machine.files import file_digest

#: Of ImageNet's pixels, by channel: what GoogLeNet's published weights expect.
MEAN, STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)

#: Share of an image's area, and ratio of width to height, of the crops that it is learnt from.
CROP_AREA, CROP_RATIO = (0.08, 1.0), (3 / 4, 4 / 3)

#: Batches that are decoded while the network works.
AHEAD = 2


class GoogLeNetFeatures(torch.nn.Module):
    """GoogLeNet up to its 1024 pooled features, brought to unit length.

    weights: ``default`` (torchvision's download), a local ``.pth`` file of a state dict, or ``random``.
    """

    width = 1024

    def __init__(self, weights: str = "default", random_state: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_state)
            network = googlenet_classifier(weights)
        # The heads are cut off and not trained, but a file of weights that others can read has them.
        self.heads = {key: w for key, w in network.state_dict().items() if key.startswith(("aux", "fc."))}
        network.aux_logits, network.aux1, network.aux2 = False, None, None
        network.dropout = network.fc = torch.nn.Identity()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, 3, height, width) -> (B, 1024)."""
        return torch.nn.functional.normalize(self.network(images))

    def weights(self) -> dict[str, torch.Tensor]:
        """A state dict of the whole network, which ``make_backbone("googlenet", weights=<its file>)`` takes."""
        return {**self.heads, **{key: weight.cpu() for key, weight in self.network.state_dict().items()}}


class ImageInputs:
    """Image files as inputs of a training: random crops to learn from, the centre to be evaluated on.

    paths: one file per sample. size: pixels of a side. An image's crop depends on the training's own generator and
    the image's number only, so that an interrupted training resumes as if it had not been interrupted.
    """

    def __init__(self, paths: Sequence[str], encoder: torch.nn.Module, size: int = 224, batch_size: int = 32) -> None:
        self.paths = list(paths)
        self.encoder: torch.nn.Module | None = encoder
        self.width: int = encoder.width  # type: ignore[assignment]
        self.size = size
        self.batch_size = batch_size  # of images that are not learnt from

    def __len__(self) -> int:
        return len(self.paths)

    def stream(self, batches: Sequence[torch.Tensor], generator: torch.Generator) -> Iterator[torch.Tensor]:
        """Random crops of every batch."""
        seed = int(torch.randint(2**62, (), generator=generator))

        def prepare(number: int) -> NDArray[np.float32]:
            rng = np.random.default_rng((seed, number))
            return pixels(random_crop(read_image(self.paths[number]), self.size, rng))

        return self._prepared(batches, prepare)

    def features(self, rows: NDArray[np.integer[Any]], encoder: torch.nn.Module | None) -> NDArray[np.float32]:
        """Features of the centres, by the encoder in evaluation mode."""
        assert encoder is not None  # images are not features
        encoder.eval()
        device = next(encoder.parameters()).device
        batches = torch.split(torch.as_tensor(np.asarray(rows)), self.batch_size)
        prepared = self._prepared(batches, lambda n: pixels(centre_crop(read_image(self.paths[n]), self.size)))
        with torch.no_grad():
            blocks = [encoder(images.to(device)).cpu().numpy() for images in prepared]
        return np.concatenate(blocks)

    def fingerprint(self) -> str:
        """A digest of the content of the files, and of the weights that the encoder starts with."""
        assert self.encoder is not None
        with ThreadPoolExecutor(available_cores()) as pool:
            contents = list(pool.map(file_digest, self.paths))
        digest = hashlib.sha256(repr((self.size, contents)).encode())
        for weight in self.encoder.state_dict().values():
            digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def _prepared(
        self, batches: Sequence[torch.Tensor], prepare: Callable[[int], NDArray[np.float32]]
    ) -> Iterator[torch.Tensor]:
        """One tensor per batch, the next ones being decoded in the meantime."""
        with ThreadPoolExecutor(available_cores()) as pool:
            waiting = []
            for batch in batches:
                waiting.append([pool.submit(prepare, number) for number in batch.tolist()])
                if len(waiting) > AHEAD:
                    yield _stack(waiting.pop(0))
            yield from map(_stack, waiting)


def _stack(futures: Sequence[Any]) -> torch.Tensor:
    return torch.from_numpy(np.stack([future.result() for future in futures]))


def random_crop(image: Image.Image, size: int, rng: np.random.Generator) -> Image.Image:
    """A random part of the image, of random area and proportions, as a square; mirrored half the time."""
    width, height = image.size
    box: tuple[int, int, int, int] | None = None
    for _ in range(10):
        area, ratio = width * height * rng.uniform(*CROP_AREA), math.exp(rng.uniform(*np.log(CROP_RATIO)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
            box = (left, top, left + w, top + h)
            break
    if box is None:  # an image so long that hardly any crop fits
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        box = (left, top, left + side, top + side)
    square = image.crop(box).resize((size, size), Image.Resampling.BILINEAR)
    return square.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else square


def centre_crop(image: Image.Image, size: int) -> Image.Image:
    """Shorter side to 256 / 224 of ``size``, then the central square: as torchvision prepares for its weights."""
    check_shape(image)
    short = round(size * 256 / 224)
    scale = short / min(image.size)
    width, height = (short if side == min(image.size) else int(side * scale) for side in image.size)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return image.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + size, top + size))


def pixels(image: Image.Image) -> NDArray[np.float32]:
    """(3, height, width), normalised by channel."""
    values = (np.asarray(image, dtype=np.float32) / 255 - MEAN) / STD
    return np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float32)
