"""Stanford Dogs in its official layout."""

from pathlib import Path

import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.image_folders import ImageFolders
from aezsl.formats.reading import (
    FETCH_AGAIN,
    BenchmarkFormat,
    check_known,
    find_list,
    first_few,
    image_table,
    read_lines,
    read_mat,
    read_names,
    reading,
    roles_from_unseen,
    warn_of_missing,
)
from aezsl.formats.wordnet import WNID, read_synsets


class Dogs(BenchmarkFormat):
    """``Images/<wnid>-<breed>/*.jpg``: 120 breeds, described by text; a class is named like its folder.

    root : the folder that holds Images.
    breeds_list : file with the breeds to use, one per line (the paper has 113); all that are there without it.
    unseen_list : file with the unseen breeds, one per line (the paper has 28). Without it no roles. Both lists may name
        a breed by its folder or by its wnid.
    texts : what describes the breeds: a table with a header and the columns ``folder`` or ``wnid`` and any of text
        (``classes.tsv``), a folder of ``<folder or wnid>.txt`` files, or WordNet's ``data.noun`` (lemmas and
        definition). Without it ``classes.tsv`` below root if it is there, else the names of the folders.
    image_list : the official ``file_list.mat``, or a text file of paths like ``n02085620-Chihuahua/n02085620_7.jpg``,
        instead of what lies in Images: for work with stored features.
    """

    def __init__(
        self,
        *,
        root: str,
        breeds_list: str | None = None,
        unseen_list: str | None = None,
        texts: str | None = None,
        image_list: str | None = None,
    ) -> None:
        super().__init__(root=root)
        self.breeds_list, self.unseen_list, self.texts, self.image_list = breeds_list, unseen_list, texts, image_list

    def read(self) -> Benchmark:
        """List the images and read the texts; no image is opened."""
        files = self._files()
        names = sorted(files)
        if self.breeds_list is not None:
            path = find_list(self.root, self.breeds_list, "the breeds to use")
            chosen = set(self._by_folder(read_names(path, "breeds"), names, path))
            names = [name for name in names if name in chosen]
        labels = [name for name in names for _ in files[name]]
        images = image_table(self.root / "Images", [file for name in names for file in files[name]], labels)
        classes = pd.DataFrame({"class_name": names, "wnid": [wnid(name) for name in names]})
        classes["text"] = self._texts(names)
        if self.unseen_list is not None:
            path = find_list(self.root, self.unseen_list, "the unseen breeds")
            unseen = self._by_folder(read_names(path, "unseen breeds"), names, path)
            classes["role"] = roles_from_unseen(names, unseen, path)
        if self.image_list is not None:
            warn_of_missing(images)
        return Benchmark(images, classes)

    def _files(self) -> dict[str, list[str]]:
        """Image files by breed, as paths below Images."""
        if self.image_list is not None:
            return self._listed(find_list(self.root, self.image_list, "paths of images"))
        folder = self.require("Images", "one folder of images per breed")
        listing = ImageFolders(folder)
        names = [name for name in listing.folders(folder) if _is_breed(name)]
        if not names:
            raise DataError(f"{folder} has no folder like n02085620-Chihuahua; {FETCH_AGAIN}")
        files = {name: [f"{name}/{file}" for file in listing.images(folder / name, name)] for name in names}
        if empty := [name for name in names if not files[name]]:
            raise DataError(f"{folder}: no image of {first_few(empty)}; {FETCH_AGAIN}")
        listing.log_rest()
        return files

    @staticmethod
    def _listed(path: Path) -> dict[str, list[str]]:
        if path.suffix == ".mat":
            lines = [str(file) for file in read_mat(path, ["file_list"])["file_list"]]
        else:
            lines = read_names(path, "paths of images")
        files: dict[str, list[str]] = {}
        for line in lines:
            folder, slash, file = line.partition("/")
            if not slash or not file or not _is_breed(folder):
                raise DataError(f"{path}: expected paths like n02085620-Chihuahua/n02085620_7.jpg, got {line!r}")
            files.setdefault(folder, []).append(line)
        return files

    @staticmethod
    def _by_folder(given: list[str], names: list[str], source: Path) -> list[str]:
        """Breeds named by folder or wnid, as folders."""
        folder_of = {wnid(name): name for name in names}
        folders = [folder_of.get(name, name) for name in given]
        check_known(folders, names, source, "breeds")
        return folders

    def _texts(self, names: list[str]) -> list[str]:
        if self.texts is None and not (self.root / "classes.tsv").is_file():
            return [name.partition("-")[2].replace("_", " ") for name in names]
        places = [self.root / self.texts, Path(self.texts)] if self.texts is not None else []
        if folder := next((place for place in places if place.is_dir()), None):
            texts, source = _texts_of_folder(folder), folder
        else:
            source = find_list(self.root, self.texts or "classes.tsv", "a text per breed")
            is_wordnet = source.name.startswith("data.noun")
            wnids = {wnid(name) for name in names}
            texts = (
                {key: synset.text for key, synset in read_synsets(source).items() if key in wnids}
                if is_wordnet
                else _texts_of_table(source)
            )
        found = [texts.get(name) or texts.get(wnid(name)) or "" for name in names]
        if missing := [name for name, text in zip(names, found, strict=True) if not text]:
            raise DataError(f"{source} has no text for {first_few(missing)}; give them one, or leave texts out")
        return found


def wnid(folder: str) -> str:
    """The WordNet id that a breed's folder starts with."""
    return folder.partition("-")[0]


def _is_breed(folder: str) -> bool:
    start, dash, breed = folder.partition("-")
    return WNID.fullmatch(start) is not None and bool(dash and breed)


def _texts_of_folder(folder: Path) -> dict[str, str]:
    return {path.stem: " ".join(read_lines(path, "the text of a breed")) for path in sorted(folder.glob("*.txt"))}


def _texts_of_table(path: Path) -> dict[str, str]:
    with reading(path, "a table of texts"):
        separator = "\t" if path.suffix in (".tsv", ".txt") else ","
        table = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    keys = [column for column in ("folder", "wnid") if column in table]
    columns = [column for column in table if column not in ("folder", "wnid")]
    if not keys or not columns:
        raise DataError(
            f"{path}: expected a header with folder or wnid and at least one column of text, got {list(table.columns)}"
        )
    texts = [": ".join(part.strip() for part in row if part.strip()) for row in table[columns].to_numpy()]
    return dict(zip(table[keys[0]].str.strip(), texts, strict=True))
