"""Images in tar files, as WebDataset lays them out: read where they lie, never unpacked."""

import tarfile
from collections import defaultdict
from pathlib import Path

import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.images import IMAGE_SUFFIXES
from aezsl.formats.reading import (
    FETCH_AGAIN,
    BenchmarkFormat,
    find_list,
    first_few,
    read_lines,
    read_names,
    reading,
    roles_from_unseen,
)
from aezsl.machine.files import member_path

#: What follows the name of a sample where its label stands: the number of its class, as text.
LABEL = ".cls"

#: Folders of shards whose images are officially held out.
TEST_FOLDERS = ("test", "val", "validation")

CLASS_NAMES = "classnames.txt"


class WebDataset(BenchmarkFormat):
    """``*.tar`` at any depth, ``classnames.txt``, and templates: as CLIP_benchmark publishes its data sets.

    A sample is two members of a tar of one name: the image (``000001.jpg``) and ``000001.cls``, the number of its class
    from 0, a line of classnames.txt. A sample without label is an image of a class that nobody knows.

    root : the folder of classnames.txt and the shards.
    unseen_list : file with the unseen classes, one per line. Without it no roles. With it, images below ``test`` are
        officially held out.
    """

    def __init__(self, *, root: str, unseen_list: str | None = None) -> None:
        super().__init__(root=root)
        self.unseen_list = unseen_list

    def read(self) -> Benchmark:
        """Read the table of contents of every shard and the labels; no image is decoded."""
        names = read_lines(self.require(CLASS_NAMES, "the name of every class, one per line"), "names of classes")
        shards = sorted(self.root.rglob("*.tar"))
        if not shards:
            raise DataError(f"{self.root} has no .tar file: expected shards of a WebDataset, not compressed")
        images = pd.concat([self._shard(shard, names) for shard in shards], ignore_index=True)
        classes = pd.DataFrame({"class_name": names, "text": names})
        if self.unseen_list is not None:
            path = find_list(self.root, self.unseen_list, "the unseen classes")
            classes["role"] = roles_from_unseen(names, read_names(path, "unseen classes"), path)
            images["official"] = self._official(images, set(classes.loc[classes["role"] == "unseen", "class_name"]))
        return Benchmark(images, classes)

    def _shard(self, shard: Path, names: list[str]) -> pd.DataFrame:
        samples: dict[str, dict[str, tarfile.TarInfo]] = defaultdict(dict)
        rows: list[tuple[str, str, str | None]] = []
        with reading(shard, "a tar file"), tarfile.open(shard, "r:") as tar:
            for member in tar:
                folder, _, file = member.name.rpartition("/")
                stem, dot, suffix = file.partition(".")
                if member.isreg() and stem:
                    samples[f"{folder}/{stem}".lstrip("/")][f"{dot}{suffix}".lower()] = member
            place = shard.relative_to(self.root).as_posix()
            for key, parts in samples.items():
                image = next((parts[suffix] for suffix in parts if suffix in IMAGE_SUFFIXES), None)
                if image is None:
                    continue
                label = self._label(tar, parts.get(LABEL), names, f"{shard}, {key}{LABEL}")
                path = member_path(shard.absolute(), image.offset_data, image.size, image.name)
                rows.append((f"{place}/{image.name}", path, label))
        if not rows:
            raise DataError(f"{shard} has no image: expected members ending in {', '.join(IMAGE_SUFFIXES)}")
        return pd.DataFrame(rows, columns=["image_id", "path", "class_name"])

    @staticmethod
    def _label(tar: tarfile.TarFile, member: tarfile.TarInfo | None, names: list[str], where: str) -> str | None:
        if member is None:
            return None
        content = tar.extractfile(member)
        text = b"" if content is None else content.read(64).strip()
        if not text.isdigit() or int(text) >= len(names):
            shown = text.decode(errors="replace")
            raise DataError(f"{where}: expected a class from 0 to {len(names) - 1}, got {shown!r}; {FETCH_AGAIN}")
        return names[int(text)]

    @staticmethod
    def _official(images: pd.DataFrame, unseen: set[str]) -> list[str | None]:
        held_out = [bool(set(name.split("/")[:-1]) & set(TEST_FOLDERS)) for name in images["image_id"]]
        return [
            None if label is None else "test_unseen" if label in unseen else "test_seen" if test else "train"
            for label, test in zip(images["class_name"], held_out, strict=True)
        ]


def read_templates(path: Path) -> list[str]:
    """Prompts from a file, one per line; ``{c}``, as CLIP_benchmark writes it, and ``{}`` stand for the class."""
    templates = [line.replace("{c}", "{}") for line in read_lines(path, "prompt templates")]
    if wrong := [template for template in templates if "{}" not in template]:
        raise DataError(f"{path}: {first_few(wrong)} must have {{}} where the class goes")
    return templates
