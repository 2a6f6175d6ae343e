"""How much of the engine's bare speed is left when images come from tar files and are decoded on the way.

python -m tests.benchmarks.bench_extraction [n_images] [backbone]
"""

import io
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.formats.webdataset import WebDataset

BATCH = 8


def write_shards(root, n_images, per_shard=256):
    """Photos of 500 x 375 pixels, as benchmarks have them: smooth, so that they compress like photos."""
    rng = np.random.default_rng(0)
    (root / "classnames.txt").write_text("one\ntwo\n")
    for shard, first in enumerate(range(0, n_images, per_shard)):
        with tarfile.open(root / f"{shard}.tar", "w") as tar:
            for number in range(first, min(first + per_shard, n_images)):
                small = Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8))
                stream = io.BytesIO()
                small.resize((500, 375), Image.Resampling.BICUBIC).save(stream, "jpeg", quality=90)
                for suffix, content in ((".jpg", stream.getvalue()), (".cls", b"0")):
                    entry = tarfile.TarInfo(f"{number:06d}{suffix}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def rate(n_images, work):
    start = time.perf_counter()
    work()
    return n_images / (time.perf_counter() - start)


def main(n_images=512, name="efficientnet_lite0"):
    backbone = make_backbone(name)
    preprocess, network = backbone.load()
    batch = np.stack([preprocess(Image.new("RGB", (500, 375)))] * BATCH)
    network(batch)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_shards(root, n_images)
        images = WebDataset(root=folder).read().images
        settings = {"batch_size": BATCH, "shard_size": 512, "on_error": "fail"}
        store = VectorStore(root / "store")
        bare = rate(n_images, lambda: [network(batch) for _ in range(n_images // BATCH)])
        whole = rate(n_images, lambda: extract_to_store(backbone, images, store, settings))
    print(f"{name}: bare engine {bare:.1f} images/s, from tar files {whole:.1f} images/s: {100 * whole / bare:.0f} %")


if __name__ == "__main__":
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
