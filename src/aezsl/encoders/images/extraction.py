"""Batched feature extraction that can be interrupted at any time and loses at most one shard of work."""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Float32
from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.engine import Run, available_cores
from aezsl.encoders.images.preprocessing import Preprocess, least_size
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.errors import DataError, counted
from aezsl.formats.images import read_content, read_image
from aezsl.machine.files import content_digest, has_digest
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import Workers, workers, working_on

log = logging.getLogger(__name__)


class UnreadableImagesError(DataError):
    """Some image files cannot be decoded."""


def extract_features(
    images: pd.DataFrame,
    known: Mapping[str, str],
    backbone: Backbone,
    batch_size: int = 8,
    shard_size: int = 512,
    show: bool = True,
) -> Iterator[tuple[VectorChunk | None, dict[str, str]]]:
    """Features of the images that are not ``known`` (image_id -> digest of the content) yet, a shard at a time.

    Yields the vectors of a shard, if it has any, and all unreadable images so far (image_id -> reason).
    show : whether to show how far the work is.
    """
    todo = images[_changed(images, known)]
    unreadable: dict[str, str] = {}
    if todo.empty:
        return
    n_cores = available_cores()
    with working_on(Workers()):  # one core for each batch: threads inside of one mostly wait for each other
        preprocess, network = backbone.load()
    rows = list(zip(todo["image_id"], todo["path"], strict=True))
    batches = (rows[i : i + batch_size] for i in range(0, len(rows), batch_size))
    per_shard = max(1, shard_size // batch_size)
    with _bar(len(images), len(images) - len(todo), disable=not show) as bar:
        encoded = Workers(n_cores).map(_encode_batch, batches, preprocess, network, least_size(preprocess))
        counted = _counted(encoded, bar)
        while shard := list(islice(counted, per_shard)):
            unreadable |= {image_id: reason for batch in shard for image_id, reason in batch.unreadable.items()}
            ids = [image_id for batch in shard for image_id in batch.ids]
            digests = [digest for batch in shard for digest in batch.digests]
            vectors = [batch.vectors for batch in shard if batch.vectors is not None]
            yield VectorChunk(backbone.fingerprint, ids, digests, np.concatenate(vectors)) if ids else None, unreadable


@dataclass(frozen=True)
class _Batch:
    """What came of some images."""

    ids: list[str]
    digests: list[str]
    vectors: Float32 | None
    unreadable: dict[str, str]


def _encode_batch(rows: list[tuple[str, str]], preprocess: Preprocess, network: Run, at_least: int) -> _Batch:
    """Read, decode and encode: other batches are decoded meanwhile."""
    ids, digests, pixels, unreadable = [], [], [], {}
    for image_id, path in rows:
        try:
            content = read_content(path)
            pixels.append(preprocess(read_image(content, path, at_least)))
            ids.append(image_id)
            digests.append(content_digest(content))
        except (DataError, ValueError, MemoryError) as error:
            unreadable[image_id] = str(error) if path in str(error) else f"{path}: {error}"
    return _Batch(ids, digests, network(np.stack(pixels)) if pixels else None, unreadable)


def _counted(batches: Iterator[_Batch], bar: Any) -> Iterator[_Batch]:
    for batch in batches:
        bar.update(len(batch.ids) + len(batch.unreadable))
        yield batch


def _bar(n_images: int, n_known: int, **options: Any) -> Any:
    return progress_bar(total=n_images, initial=n_known, desc="features", unit="image", **options)


def _changed(images: pd.DataFrame, known: Mapping[str, str]) -> NDArray[np.bool_]:
    """Which images are not known, or have another content than the one that is: all known ones are read."""

    def changed(row: tuple[str, str]) -> bool:
        image_id, path = row
        return image_id not in known or not has_digest(path, known[image_id])

    rows = list(zip(images["image_id"], images["path"], strict=True))
    with (
        ThreadPoolExecutor(available_cores()) as pool,
        progress_bar(pool.map(changed, rows), total=len(rows), desc="known features", unit="image", delay=5) as answers,
    ):
        return np.fromiter(answers, dtype=bool, count=len(rows))


def _extract_on_workers(
    images: pd.DataFrame, known: Mapping[str, str], backbone: Backbone, batch_size: int, shard_size: int
) -> Iterator[tuple[VectorChunk | None, dict[str, str]]]:
    """As ``extract_features``, a shard per task. Vectors come back to this process, the only one that writes."""
    todo = images[_changed(images, known)]
    pieces = (todo.iloc[i : i + shard_size] for i in range(0, len(todo), shard_size))
    unreadable: dict[str, str] = {}
    with _bar(len(images), len(images) - len(todo)) as bar:
        for n_images, chunk, bad in workers().map(_extract_piece, pieces, backbone, batch_size):
            unreadable |= bad
            bar.update(n_images)
            yield chunk, unreadable


def _extract_piece(
    piece: pd.DataFrame, backbone: Backbone, batch_size: int
) -> tuple[int, VectorChunk | None, dict[str, str]]:
    """A task: all images of the piece as one shard."""
    rounded_up = -(-len(piece) // batch_size) * batch_size
    [(chunk, unreadable)] = extract_features(piece, {}, backbone, batch_size, rounded_up, show=False)
    return len(piece), chunk, unreadable


def extract_to_store(
    backbone: Backbone, images: pd.DataFrame, store: VectorStore, settings: ExtractionSettings
) -> tuple[VectorSet, dict[str, str]]:
    """Add the features that the store does not have yet, shard by shard; and the images that cannot be read."""
    unreadable: dict[str, str] = {}
    known = store.known(backbone.fingerprint)
    extract = _extract_on_workers if workers().elsewhere else extract_features
    shards = extract(images, known, backbone, settings.batch_size, settings.shard_size)
    for chunk, unreadable in shards:  # noqa: B007  # the last one names them all
        if chunk is not None:
            store.add(chunk)
    if unreadable:
        listed = "\n  ".join(list(unreadable.values())[:10])
        message = f"{counted(len(unreadable), 'images', 'image')} cannot be read:\n  {listed}"
        if settings.on_error == "fail":
            raise UnreadableImagesError(
                f"{message}\nRepair or remove them, or leave them out by --params=feature_extraction.on_error=skip"
            )
        log.warning("%s\nThe rest is used.", message)
    return VectorSet(backbone.fingerprint, backbone.config), unreadable
