"""How much of the engine's bare speed is left when images come from tar files and are decoded on the way.

python -m tests.benchmarks.bench_extraction [n_images] [backbone] [precision]

Bare is the network on pixels that lie in memory, in whichever way is fastest. Where the cores that run the network
decode as well, nobody is faster than the sum of both, so this floor is printed too: what Pillow alone takes to decode
a photo, cut it and scale it, beside the network. Where the network has a core, or a device, of its own, decoding can be
hidden behind it: that is measured with a network that takes one batch at a time, on one core, while another decodes.
Processor time says the same beside other work on the machine.
"""

import io
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image

from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import Backbone, make_backbone
from aezsl.encoders.images.engine import available_cores
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.formats.webdataset import WebDataset
from aezsl.machine.workers import Workers, working_on

BATCH = 8
#: Of the noise that makes a picture as large on disk as a photo of that size, 80 kB.
NOISE = 9


def make_photo(rng, noise=NOISE):
    """A photo of 500 x 375 pixels, as benchmarks have them."""
    small = Image.fromarray(rng.integers(0, 255, (24, 32, 3), dtype=np.uint8))
    smooth = np.asarray(small.resize((500, 375), Image.Resampling.BICUBIC), dtype=float)
    photo = np.clip(smooth + noise * rng.normal(size=(375, 500, 1)), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(photo).save(stream, "jpeg", quality=90)
    return stream.getvalue()


def write_shards(root, photos, n_images, per_shard=256):
    (root / "classnames.txt").write_text("one\ntwo\n")
    for shard, first in enumerate(range(0, n_images, per_shard)):
        with tarfile.open(root / f"{shard}.tar", "w") as tar:
            for number in range(first, min(first + per_shard, n_images)):
                for suffix, content in ((".jpg", photos[number % len(photos)]), (".cls", b"0")):
                    entry = tarfile.TarInfo(f"{number:06d}{suffix}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def bare_pillow(content, size=224):
    """What decoding, cutting and scaling cost at least: no care for colours, orientation or damage, nothing copied."""
    image = Image.open(io.BytesIO(content))
    side = int(min(image.size) * size / (size + 32))
    left, top = (image.width - side) // 2, (image.height - side) // 2
    image.crop((left, top, left + side, top + side)).resize((size, size), Image.Resampling.BICUBIC)


def measured(n_images, work):
    """Images per second, and processor milliseconds per image."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return n_images / wall, 1000 * processor / n_images


def bare_speeds(backbone, n_images):
    """Of the network, by how it is asked: one image or a batch, on all cores or side by side on one each."""
    preprocess, on_all_cores = backbone.load()
    with working_on(Workers()):
        _, on_one_core = backbone.load()
    pixels = np.stack([preprocess(Image.new("RGB", (500, 375)))] * BATCH)
    many = [pixels] * (n_images // BATCH)
    on_all_cores(pixels), on_one_core(pixels)
    side_by_side = Workers(available_cores())
    return {
        "on all cores": measured(n_images, lambda: [on_all_cores(batch) for batch in many]),
        "one on each core": measured(n_images, lambda: list(side_by_side.map(on_one_core, many))),
        "on one core": measured(n_images, lambda: [on_one_core(batch) for batch in many]),
    }


def one_at_a_time(backbone):
    """The backbone with a network that takes one batch at a time, as devices do."""

    def load():
        preprocess, network = backbone.load()
        turn = Lock()

        def run(batch):
            with turn:
                return network(batch)

        return preprocess, run

    return Backbone(backbone.config, load)


def main(n_images=1024, name="efficientnet_lite0", precision="float32"):
    backbone, rng = make_backbone(name, precision=precision), np.random.default_rng(0)
    photos = [make_photo(rng) for _ in range(min(64, n_images))]
    bare = bare_speeds(backbone, n_images)
    pieces = [photos] * (n_images // len(photos))
    _, pillow = measured(
        n_images, lambda: list(Workers(available_cores()).map(lambda some: [bare_pillow(one) for one in some], pieces))
    )
    settings = ExtractionSettings(batch_size=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_shards(root, photos, n_images)
        images = WebDataset(root=folder).read().images
        extracted = {}
        for how, seen_by in (("shared", backbone), ("one at a time", one_at_a_time(backbone))):
            store = VectorStore(root / how)
            extract_to_store(seen_by, images[:BATCH], store, settings)
            extracted[how] = measured(
                n_images - BATCH,
                lambda: extract_to_store(seen_by, images, store, settings),  # noqa: B023
            )
    report(f"{name} {precision}", bare, pillow, extracted)


def report(name, bare, pillow, extracted):
    for how, (speed, processor) in bare.items():
        print(f"{name}, bare, {how}: {speed:.1f} images/s, {processor:.2f} ms of processor time each")
    together = {how: bare[how] for how in ("on all cores", "one on each core")}
    fastest, cheapest = max(speed for speed, _ in together.values()), min(cost for _, cost in together.values())
    rate, cost = extracted["shared"]
    floor = cheapest / (cheapest + pillow)
    print(f"Pillow alone, decoding and scaling: {pillow:.2f} ms of processor time: at best {100 * floor:.0f} % is left")
    print(
        f"from tar files, cores shared: {rate:.1f} images/s, {100 * rate / fastest:.0f} % of the faster one's", end=" "
    )
    print(f"speed, {100 * rate / fastest / floor:.0f} % of what can be; {cost:.2f} ms of processor time, ", end="")
    print(f"{100 * cheapest / cost:.0f} %")
    rate, _ = extracted["one at a time"]
    print(f"from tar files, one core for the network and one to decode: {rate:.1f} images/s,", end=" ")
    print(f"{100 * rate / bare['on one core'][0]:.0f} % of the network alone on one core")


if __name__ == "__main__":
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
