"""How much of the engine's bare speed is left when images come from tar files and are decoded on the way.

python -m tests.benchmarks.bench_extraction [n_images] [backbone]

Bare is the network on batches that lie in memory, as large as those of the extraction and on as many cores: one batch
on all of them, or one on each; the faster one counts. Processor time says the same beside other work on the machine.
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
from aezsl.encoders.images.engine import available_cores
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.formats.webdataset import WebDataset
from aezsl.machine.workers import Workers, working_on

BATCH = 8
#: Of the noise that makes a picture as large on disk as a photo of that size, 80 kB.
NOISE = 9


def write_shards(root, n_images, per_shard=256):
    """Photos of 500 x 375 pixels, as benchmarks have them."""
    rng = np.random.default_rng(0)
    (root / "classnames.txt").write_text("one\ntwo\n")
    for shard, first in enumerate(range(0, n_images, per_shard)):
        with tarfile.open(root / f"{shard}.tar", "w") as tar:
            for number in range(first, min(first + per_shard, n_images)):
                small = Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8))
                smooth = np.asarray(small.resize((500, 375), Image.Resampling.BICUBIC), dtype=float)
                photo = np.clip(smooth + NOISE * rng.normal(size=(375, 500, 1)), 0, 255).astype(np.uint8)
                stream = io.BytesIO()
                Image.fromarray(photo).save(stream, "jpeg", quality=90)
                for suffix, content in ((".jpg", stream.getvalue()), (".cls", b"0")):
                    entry = tarfile.TarInfo(f"{number:06d}{suffix}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def measured(n_images, work):
    """Images per second, and processor milliseconds per image."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return n_images / wall, 1000 * processor / n_images


def main(n_images=512, name="efficientnet_lite0"):
    backbone = make_backbone(name)
    preprocess, on_all_cores = backbone.load()
    with working_on(Workers()):
        _, on_one_core = backbone.load()
    batches = [np.stack([preprocess(Image.new("RGB", (500, 375)))] * BATCH)] * (n_images // BATCH)
    for network in (on_all_cores, on_one_core):
        network(batches[0])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_shards(root, n_images)
        images = WebDataset(root=folder).read().images
        settings = {"batch_size": BATCH, "shard_size": 512, "on_error": "fail"}
        store = VectorStore(root / "store")
        side_by_side = Workers(available_cores())
        bare = {
            "one batch on all cores": measured(n_images, lambda: [on_all_cores(batch) for batch in batches]),
            "one on each": measured(n_images, lambda: list(side_by_side.map(on_one_core, batches))),
        }
        rate, cost = measured(n_images, lambda: extract_to_store(backbone, images, store, settings))
    for how, (speed, processor) in bare.items():
        print(f"{name}, bare, {how}: {speed:.1f} images/s, {processor:.1f} ms of processor time each")
    fastest, cheapest = max(speed for speed, _ in bare.values()), min(processor for _, processor in bare.values())
    print(f"from tar files: {rate:.1f} images/s, {cost:.1f} ms: {100 * rate / fastest:.0f} % of the faster one's speed")
    print(f"by processor time: {100 * cheapest / cost:.0f} %")


if __name__ == "__main__":
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
