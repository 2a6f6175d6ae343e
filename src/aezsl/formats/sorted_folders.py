"""Images in folders by name: copied, linked, or moved with a journal that undoes it.

No file is ever overwritten. A kill at any moment loses no image: one that is moved has two names for a moment, and the
journal knows both before the first of them goes.
"""

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal

from aezsl.errors import DataError
from aezsl.formats.class_table import LONGEST, folder_of, is_written

How = Literal["copies", "links", "move"]

#: Beside the folders: where every moved image came from.
JOURNAL = "moved.csv"


def sorted_places(images: Sequence[str], names: Sequence[str]) -> list[str]:
    """A place below the sorted folder for every image, by the name it was given: ``<name>/<image>``."""
    folders: dict[str, str] = {}
    places: list[str] = []
    used: set[str] = set()
    for image, name in zip(map(PurePath, images), names, strict=True):
        folder = folders.setdefault(name, _unused(_plain(name), set(folders.values())))
        place = _unused(f"{folder}/{_plain('__'.join(image.with_suffix('').parts))}", used, image.suffix)
        used.add(place)
        places.append(place)
    return places


def _plain(name: str) -> str:
    """A name that is one part of a path on every system: no separators, no dots or blanks at its ends, not too long."""
    written = "".join(letter if letter == "+" or is_written(letter) else "_" for letter in name)
    return folder_of(written.strip(" .") or "_", LONGEST - 30)  # a number and a suffix may follow


def _unused(name: str, used: set[str], suffix: str = "") -> str:
    """The name, with a number behind it where another one has it; small and capital letters are one to some systems."""
    taken, number, found = {other.lower() for other in used}, 1, f"{name}{suffix}"
    while found.lower() in taken:
        number += 1
        found = f"{name} ({number}){suffix}"
    return found


def sort_files(folder: Path, files: Mapping[str, str], how: How) -> None:
    """Put every file at its place below the folder; place -> file. Refused as a whole where a place is taken."""
    for place, source in files.items():
        target = folder / place
        if not target.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"a sorted image must lie below its folder, got {place!r}")
        if target.exists():
            raise DataError(f"{target} is there already, and nothing is overwritten: name another folder")
        if not Path(source).is_file():
            raise DataError(f"{source} is not a file any more")
    for place, source in files.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if how == "links":
            target.symlink_to(Path(source).resolve())
        elif how == "copies":
            shutil.copyfile(source, target)
        else:
            _note(folder / JOURNAL, Path(source).resolve(), place)
            _move(Path(source), target)


def undo_moves(folder: Path) -> int:
    """Bring every image that the journal names back to where it was; how many. The journal goes at the end."""
    journal = folder / JOURNAL
    if not journal.is_file():
        raise DataError(f"{journal} is not there: nothing was moved into {folder}")
    moved = 0
    kept = []
    for source, place in reversed(list(_lines(journal))):
        target = folder / place
        if not target.exists():
            continue  # the move was not begun, or has been undone
        if source.exists() and not source.samefile(target):
            kept.append(source)
            continue
        if not source.exists():
            source.parent.mkdir(parents=True, exist_ok=True)
            _move(target, source)
        else:
            target.unlink()
        moved += 1
        if not any(target.parent.iterdir()):
            target.parent.rmdir()
    if kept:
        raise DataError(
            f"{len(kept)} places are taken by other files, such as {kept[0]}: move these away, then undo again"
        )
    journal.unlink()
    return moved


def _lines(journal: Path) -> Iterator[tuple[Path, str]]:
    """What was written whole; a kill may have cut the last line."""
    with journal.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) == 3 and row[2] == ".":
                yield Path(row[0]), row[1]


def _note(journal: Path, source: Path, place: str) -> None:
    with journal.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([source, place, "."])
        file.flush()
        os.fsync(file.fileno())


def _move(source: Path, target: Path) -> None:
    """A second name, then the first goes; where a disk has no second names, or another disk is meant, a whole copy."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise DataError(f"{target} is there already, and nothing is overwritten") from None
    except OSError:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as copy, source.open("rb") as file:
                shutil.copyfileobj(file, copy)
                copy.flush()
                os.fsync(copy.fileno())
            if target.exists():
                raise DataError(f"{target} is there already, and nothing is overwritten") from None
            shutil.copystat(source, name)
            os.rename(name, target)
        finally:
            Path(name).unlink(missing_ok=True)
    source.unlink()
