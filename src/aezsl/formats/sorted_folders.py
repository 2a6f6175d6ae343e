"""Images in folders by name: copied, linked, or moved with a journal that undoes it.

No file is ever overwritten. A kill at any moment loses no image: one that is moved has two names for a moment, and the
journal knows both before the first of them goes. A run that was stopped is finished by the next one as it was planned.
"""

import csv
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal

from aezsl.errors import DataError
from aezsl.formats.names import folder_of, is_written
from aezsl.machine.files import LONGEST, file_digest, write_durably, written_whole

How = Literal["copies", "links", "move"]

#: Beside the folders: where every moved image came from.
JOURNAL = "moved.csv"
#: What the third column of the journal says: a plan begins; "." a move of it; all of its moves were made.
BEGUN, DONE = "planned", "done"


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
    """Put every file at its place below the folder; place -> file. Refused as a whole where a place is taken.

    A copy or a link that is there already, as after a run that was stopped, is left as it is.
    """
    for place, source in files.items():
        target = folder / place
        if not target.resolve().is_relative_to(folder.resolve()) and not target.is_symlink():
            raise DataError(f"a sorted image must lie below its folder, got {place!r}")
        if target.exists() and not _is_done(target, Path(source), how):
            raise DataError(f"{target} is there already, and nothing is overwritten: name another folder")
        if not Path(source).is_file():
            raise DataError(f"{source} is not a file any more")
    if how == "move":
        _plan(folder / JOURNAL, [(str(Path(source).resolve()), place, ".") for place, source in files.items()])
        finish_moves(folder)
        return
    for place, source in files.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            continue
        if how == "links":
            target.symlink_to(Path(source).resolve())
        else:
            _copy(Path(source), target)


def former_copies(folder: Path, files: Mapping[str, str], how: How) -> list[Path]:
    """Copies or links of the same images below other names, as a run before a correction has left them."""
    sources = {PurePath(place).name: Path(source) for place, source in files.items()}
    return [
        path
        for path in sorted(folder.glob("*/*"))
        if path.relative_to(folder).as_posix() not in files
        and (source := sources.get(path.name)) is not None
        and path.absolute() != source.absolute()
        and _is_done(path, source, how)
    ]


def _is_done(target: Path, source: Path, how: How) -> bool:
    if how == "links":
        return target.is_symlink() and source.exists() and target.samefile(source)
    return how == "copies" and not target.is_symlink() and file_digest(target) == file_digest(source) != ""


def finish_moves(folder: Path) -> int:
    """Make the moves that the journal has planned and a run that was stopped has not made; how many it had planned."""
    planned = _unfinished(folder / JOURNAL)
    for source, place in planned:
        target = folder / place
        if not source.exists():  # it was moved before
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and target.samefile(source):
            source.unlink()
        else:
            _move(source, target)
    if planned:
        _plan(folder / JOURNAL, [], DONE)
    return len(planned)


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
    """All moves that were ever planned."""
    return ((Path(source), place) for source, place, mark in _rows(journal) if mark == ".")


def _unfinished(journal: Path) -> list[tuple[Path, str]]:
    """The moves of the last plan, unless all of them were made."""
    rows = _rows(journal) if journal.is_file() else []
    last = max((number for number, row in enumerate(rows) if row[2] in (BEGUN, DONE)), default=None)
    if last is None or rows[last][2] == DONE:
        return []
    return [(Path(source), place) for source, place, mark in rows[last:] if mark == "."]


def _rows(journal: Path) -> list[list[str]]:
    with journal.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if len(row) == 3]


def _plan(journal: Path, moves: Sequence[tuple[str, str, str]], mark: str = BEGUN) -> None:
    """Add a plan to the journal, or the word that it was carried out, which is on the disk before anything is moved."""
    rows = [*(_rows(journal) if journal.is_file() else []), ("", "", mark), *moves]

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)

    write_durably(journal, write)


def _move(source: Path, target: Path) -> None:
    """A second name, then the first goes; where a disk has no second names, or another disk is meant, a whole copy."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise DataError(f"{target} is there already, and nothing is overwritten: move it away") from None
    except OSError:
        _copy(source, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
    source.unlink()


def _copy(source: Path, target: Path) -> None:
    with written_whole(target) as temporary:
        shutil.copy2(source, temporary)
        if target.exists():
            raise DataError(f"{target} is there already, and nothing is overwritten: move it away")
