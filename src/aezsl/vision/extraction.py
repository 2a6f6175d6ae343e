"""Batched feature extraction that can be interrupted at any time and loses at most one shard of work."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from tqdm import tqdm

from aezsl.vectors import VectorChunk
from aezsl.vision.backbones import Backbone, available_cores

#: Decoding hint for JPEG files: at least this size, so that a 12-megapixel photo is not decoded in full.
DRAFT_SIZE = (320, 320)


class UnreadableImageError(ValueError):
    """Some image files cannot be decoded."""


def read_image(path: str | Path | IO[bytes]) -> Image.Image:
    """An image file as RGB, on white where it is transparent."""
    with Image.open(path) as image:
        image.draft("RGB", DRAFT_SIZE)
        if image.mode in ("RGB", "L"):
            return image.convert("RGB")
        rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")


def file_digest(path: str | Path) -> str:
    """Changes when the file does; empty where there is no file. Cheap: the content is not read."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"


def extract_features(
    images: pd.DataFrame,
    known: Mapping[str, str],
    backbone: Backbone,
    batch_size: int = 8,
    shard_size: int = 512,
) -> Iterator[tuple[VectorChunk, dict[str, str]]]:
    """Features of the images that are not ``known`` (image_id -> digest) yet, a shard at a time.

    Yields the vectors of a shard, and all unreadable images so far (image_id -> reason). The first item is
    empty: it says which backbone the vectors belong to, even when none is missing.
    """
    digests = images["path"].map(file_digest)
    # One dict look-up per image, vectorised comparison: cheap for a million of them.
    todo = images[images["image_id"].map(known).ne(digests).to_numpy()]
    unreadable: dict[str, str] = {}
    yield VectorChunk.empty(backbone.fingerprint, backbone.config), unreadable
    if todo.empty:
        return
    preprocess, network = backbone.load()
    rows = zip(todo["image_id"], todo["path"], digests.loc[todo.index], strict=True)
    with (
        ThreadPoolExecutor(available_cores()) as pool,
        tqdm(total=len(images), initial=len(images) - len(todo), desc="features", unit="image") as bar,
    ):
        prepared = _prepare_ahead(pool, rows, preprocess, batch_size)
        while shard := list(islice(prepared, max(1, shard_size // batch_size))):
            ids: list[str] = []
            shard_digests: list[str] = []
            vectors: list[NDArray[np.float32]] = []
            for batch in shard:
                good = [item for item in batch if not isinstance(item[2], str)]
                unreadable |= {image_id: reason for image_id, _, reason in batch if isinstance(reason, str)}
                if good:
                    vectors.append(network(np.stack([pixels for _, _, pixels in good])))
                    ids += [image_id for image_id, _, _ in good]
                    shard_digests += [digest for _, digest, _ in good]
                bar.update(len(batch))
            if ids:
                matrix = np.concatenate(vectors)
                yield VectorChunk(backbone.fingerprint, backbone.config, ids, shard_digests, matrix), unreadable


def _prepare_ahead(
    pool: ThreadPoolExecutor,
    rows: Iterator[tuple[str, str, str]],
    preprocess: Callable[[Image.Image], Any],
    batch_size: int,
) -> Iterator[list[tuple[str, str, Any]]]:
    """Batches of (image_id, digest, pixels or the reason why there are none), decoded while the network runs."""

    def prepare(row: tuple[str, str, str]) -> tuple[str, str, Any]:
        image_id, path, digest = row
        try:
            return image_id, digest, preprocess(read_image(path))
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            return image_id, digest, f"{path}: {error}"

    def submit() -> list[Any]:
        return [pool.submit(prepare, row) for row in islice(rows, batch_size)]

    waiting = [submit(), submit()]
    while waiting[0]:
        waiting.append(submit())
        yield [future.result() for future in waiting.pop(0)]
