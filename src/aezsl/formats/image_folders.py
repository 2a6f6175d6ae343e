"""Folders of images: one per class, or of new images."""

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from aezsl.errors import DataError
from aezsl.formats.class_table import read_class_table
from aezsl.formats.corrections import CORRECTIONS, read_corrections
from aezsl.formats.images import HEIF_SUFFIXES, IMAGE_SUFFIXES
from aezsl.formats.reading import first_few, image_table, reading

log = logging.getLogger(__name__)

HIDDEN = "hidden folders"


#: What brings a reader for files that cameras make and Pillow alone does not read.
_READ_AFTER = dict.fromkeys((f"files {suffix}" for suffix in HEIF_SUFFIXES), "; pip install pillow-heif reads them")


class ImageFolders:
    """Lists folders below ``root`` and counts, by kind, the files and folders that are passed over.

    One rule for all readers: an image is a regular file with a suffix of ``IMAGE_SUFFIXES`` whose name does not begin
    with a dot, and it is read once, however many links lead to it. Whatever else lies there is counted and named by
    ``log_rest``; a name that is not UTF-8 could not be stored with the results and is refused.

    read_otherwise : files that somebody else reads, so that they are not worth a word.
    """

    def __init__(self, root: Path, read_otherwise: Iterable[Path] = ()) -> None:
        self.root = root
        self._known = set(read_otherwise)
        self._rest: dict[str, list[str]] = {}
        self._listed: dict[str, tuple[Path, str | None]] = {}  # where it really lies -> how it was reached, its class

    def images(self, folder: Path, label: str | None = None) -> list[str]:
        """File names of the images directly in a folder, sorted; whatever else is there is counted but for folders.

        label : the class of the images, where they have one. What links bring in again is counted; where it would be
        of another class then, it is refused.
        """
        return self._images(folder, label) if self._is_first(os.path.realpath(folder), folder, label) else []

    def _images(self, folder: Path, label: str | None) -> list[str]:
        real = os.path.realpath(folder)
        found = []
        for entry in sorted(self._entries(folder), key=lambda entry: entry.is_symlink()):  # the files before the links
            kind = _kind(entry)
            if kind == "images":
                if self._is_first_file(entry, real, label):
                    found.append(entry.name)
            elif kind != "folders":
                self.pass_over(kind, folder / entry.name)
        return sorted(found)

    def _is_first_file(self, entry: os.DirEntry[str], folder: str, label: str | None) -> bool:
        """Whether nobody has listed the file; of files that are no links only their folders are remembered."""
        path = Path(entry.path)
        if not entry.is_symlink():
            real = os.path.join(folder, entry.name)
            return real not in self._listed or self._is_first(real, path, label)
        real = os.path.realpath(path)
        place, name = os.path.split(real)
        if place in self._listed and _is_image(name):
            return self._is_first(place, path, label)
        return self._is_first(real, path, label)

    def _is_first(self, real: str, path: Path, label: str | None) -> bool:
        """Whether nobody has listed it; an error where it has been, as images of another class."""
        first, of = self._listed.setdefault(real, (path, label))
        if first is path:
            return True
        if label is not None and of is not None and label != of:
            raise DataError(
                f"{path}, of the class {label!r}, leads to the images of {of!r} in {first}: an image cannot be of two "
                "classes, take one of the two out"
            )
        self.pass_over("links to what is read elsewhere", path)
        return False

    def images_below(self, folder: Path, label: str | None = None) -> list[str]:
        """Images of a folder and of all folders in it, as sorted paths below it; ``label`` as for ``images``.

        Links are followed, last of all, unless they lead back to where they are; hidden folders are left out.
        """
        found: list[str] = []
        folders = [(folder, set(folder.resolve().parents))]
        links: list[tuple[Path, set[Path]]] = []
        while folders or links:
            place, above = folders.pop() if folders else links.pop(0)
            if not self._is_first(os.path.realpath(place), place, label):
                continue
            above = above | {place.resolve()}
            found += [(place / name).relative_to(folder).as_posix() for name in self._images(place, label)]
            for name in self.folders(place):
                below = place / name
                if below.resolve() in above:
                    self.pass_over("links to a folder above", below)
                else:
                    (links if below.is_symlink() else folders).append((below, above))
        return sorted(found)

    def folders(self, folder: Path, known: Iterable[str] = ()) -> list[str]:
        """Names of the folders in a folder, sorted, without hidden ones unless ``known``; nothing is counted."""
        named = set(known)
        kinds = {entry.name: _kind(entry) for entry in self._entries(folder)}
        return [name for name, kind in kinds.items() if kind == "folders" or (kind == HIDDEN and name in named)]

    def pass_over_files(self, folder: Path, known: Iterable[str] = ()) -> None:
        """Count what lies in a folder that should hold folders only, but for the ``known`` names."""
        named = set(known)
        for entry in self._entries(folder):
            kind = _kind(entry)
            if entry.name not in named and kind != "folders":
                self.pass_over("images beside the folders" if kind == "images" else kind, folder / entry.name)

    def pass_over(self, kind: str, path: Path) -> None:
        """Count something that is not read."""
        if path not in self._known:
            self._rest.setdefault(kind, []).append(os.path.relpath(path, self.root))

    def log_rest(self) -> None:
        """Say how many of each kind were passed over, and name some."""
        for kind, paths in sorted(self._rest.items()):
            log.warning(
                "%s: not read are %s: %s%s", self.root, kind, first_few(sorted(paths)), _READ_AFTER.get(kind, "")
            )

    @staticmethod
    def _entries(folder: Path) -> list[os.DirEntry[str]]:
        with reading(folder, "a folder", "make it readable, or take it out"), os.scandir(folder) as entries:
            every = sorted(entries, key=lambda entry: entry.name)
        check_names(folder, [entry.name for entry in every])
        return every


def check_names(folder: Path, names: Iterable[str]) -> None:
    """Refuse names that are not UTF-8: tables of results could not hold them."""
    if foreign := [ascii(name) for name in names if not _is_text(name)]:
        raise DataError(f"{folder} has names that are not UTF-8, {first_few(foreign)}: rename them")


def folder_names(folder: Path) -> list[str]:
    """Names of the folders in a folder, sorted, without hidden ones."""
    return ImageFolders(folder).folders(folder)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that no character stands for
        return False
    return True


def _kind(entry: os.DirEntry[str]) -> str:
    """What a thing in a folder is: ``folders``, ``images``, or the kind of what is passed over."""
    hidden = entry.name.startswith(".")
    try:
        is_folder, is_file = entry.is_dir(), entry.is_file()
    except OSError:  # a link to itself, or to what nobody may look at
        return "links that cannot be followed"
    if is_folder:
        return HIDDEN if hidden else "folders"
    if hidden:
        return "hidden files"
    if not is_file:
        return "links to nothing, pipes or devices"
    if _is_image(entry.name):
        return "images"
    return f"files {Path(entry.name).suffix.lower() or 'without a suffix'}"


def _is_image(name: str) -> bool:
    return Path(name).suffix.lower() in IMAGE_SUFFIXES and not name.startswith(".")


@dataclass(frozen=True)
class NewImages:
    """images : image_id (path below the folder), path, class_name (none). classes : see ``read_class_table``."""

    images: pd.DataFrame
    classes: pd.DataFrame | None  # None: the unseen classes of training
    attribute_names: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)  # image_id -> the class that somebody gave it
    doubts: tuple[str, ...] = ()  # which corrections are passed over


def read_new_images(folder: Path, classes: Path | None = None) -> NewImages:
    """List all images below a folder, in whatever folders, and read the table; no image is opened.

    classes : a table like classes.csv, roles not needed. Without it ``classes.csv`` in the folder if it is there, else
        the unseen classes of training. A table without descriptions chooses among the classes of training by name.
    ``corrections.csv`` in the folder is read, too.
    """
    require_folder(folder)
    table = classes or folder / "classes.csv"
    listing = ImageFolders(folder, [table, folder / "classes.csv", folder / CORRECTIONS])
    files = listing.images_below(folder)
    listing.log_rest()
    if not files:
        raise DataError(f"{folder} has no images: expected {', '.join(IMAGE_SUFFIXES)}")
    images = image_table(folder, files, [None] * len(files))
    corrections, doubts = read_corrections(folder).names()
    about = {name: corrections[name] for name in corrections if name in set(files)}, tuple(doubts)
    if classes is None and not os.path.lexists(table):
        return NewImages(images, None, (), *about)
    if not os.path.lexists(table):
        raise DataError(f"no table of classes at {table}: give it as --params=predict.classes=...")
    return NewImages(images, *read_class_table(table), *about)


def require_folder(folder: Path) -> None:
    """Refuse a folder of images that there is not."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}: give the folder of images as --params=predict.images=...")
