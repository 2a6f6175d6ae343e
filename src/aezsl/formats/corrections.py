"""Corrected names of photos, in a file beside them: ``corrections.csv``.

A line is a step: the photo below the folder, its class, when that was said, and the beginning of the SHA-256 of the
photo's content. The last line of a photo counts, so that undoing takes a line away. Somebody may write the file by
hand: when and content may be left out. A photo that has vanished, or whose content is another one, goes by no line.
"""

import csv
import hashlib
import io
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pandas as pd

from aezsl.data.spreadsheet import escaped, unescaped
from aezsl.errors import DataError
from aezsl.formats.class_table import SEPARATORS
from aezsl.formats.names import composed, folder_of, is_plain
from aezsl.formats.reading import first_few, reading
from aezsl.machine.files import folder_written_whole, write_durably

#: The file, and its columns.
CORRECTIONS = "corrections.csv"
COLUMNS = ("path", "class", "when", "content")

HEADER = re.compile(r'"?path"?\s*[,;\t]\s*"?class\b')

#: Characters of a digest, and of the name of a class at most.
DIGEST, LONGEST_NAME = 16, 200


@dataclass(frozen=True)
class Line:
    """A line of the file; no photo where it is damaged."""

    text: str
    path: str = ""
    name: str = ""
    content: str = ""


@dataclass(frozen=True)
class Corrections:
    """What the file of a folder says."""

    folder: Path
    lines: tuple[Line, ...] = ()
    damaged: tuple[int, ...] = ()  # numbers of lines that cannot be read; they stay in the file

    def names(self) -> tuple[dict[str, str], list[str]]:
        """Photo -> class by the last line of each that is still the photo it was; and what is passed over, in words."""
        last = {line.path: line for line in self.lines if line.path}
        gone = [path for path in last if not (self.folder / path).is_file()]
        changed = [
            path
            for path, line in last.items()
            if path not in gone and line.content and line.content != digest_of(self.folder / path)
        ]
        file = self.folder / CORRECTIONS
        doubts = []
        if self.damaged:
            numbers = first_few(list(map(str, self.damaged)))
            doubts.append(f"{file}: lines that cannot be read are passed over, the others count: {numbers}")
        if gone:
            doubts.append(f"{file}: corrected photos that are not there any more: {first_few(gone)}")
        if changed:
            doubts.append(f"{file}: photos whose content has changed, correct them again: {first_few(changed)}")
        passed_over = {*gone, *changed}
        return {path: line.name for path, line in last.items() if path not in passed_over}, doubts

    def correct(self, photo: str, name: str) -> "Corrections":
        """One more step, on the disk; photo : below the folder, or from where the command runs."""
        name = composed(name.strip())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise DataError(f"the name of a class has 1 to {LONGEST_NAME} characters on one line, got {name!r}")
        path = self.place_of(photo)
        if not (self.folder / path).is_file():
            raise DataError(f"{self.folder / path} is not a file: name a photo of the folder")
        line = _line(_as_text(path, name, digest_of(self.folder / path)))
        return self._written((*self.lines, line))

    def undo(self, photo: str | None = None) -> tuple["Corrections", str]:
        """Without the last step, or the last one of a photo; and whose it was."""
        path = None if photo is None else self.place_of(photo)
        for place in reversed(range(len(self.lines))):
            line = self.lines[place]
            if line.path and path in (None, line.path):
                return self._written((*self.lines[:place], *self.lines[place + 1 :])), line.path
        what = "nothing" if path is None else f"no name of {path}"
        raise DataError(f"{what} was corrected in {self.folder}: there is no step to undo")

    def place_of(self, photo: str) -> str:
        """The photo's path below the folder, with slashes."""
        below = self.folder / photo
        given = below if below.exists() or not Path(photo).exists() else Path(photo)
        path = Path(os.path.relpath(os.path.abspath(given), os.path.abspath(self.folder))).as_posix()
        if not _is_below(path) or not path.isprintable():
            raise DataError(f"{photo!r} does not lie below {self.folder}: name a photo of the folder")
        return path

    def _written(self, lines: Sequence[Line]) -> "Corrections":
        text = "".join(f"{line}\n" for line in (",".join(COLUMNS), *(line.text for line in lines)))
        try:
            write_durably(self.folder / CORRECTIONS, lambda path: _write(path, text))
        except OSError as error:
            raise DataError(f"{self.folder / CORRECTIONS} cannot be written ({error}): look at the folder") from error
        return read_corrections(self.folder)


def read_corrections(folder: Path) -> Corrections:
    """The corrections of a folder; none where there is no file."""
    file = folder / CORRECTIONS
    if not os.path.lexists(file):
        return Corrections(folder)
    with reading(file, "the corrected names of photos", "make it readable, or take it out"):
        written = file.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    lines = [_line(text.decode(errors="surrogateescape")) for text in written]
    if lines and HEADER.match(lines[0].text):
        lines[0] = Line("")
    damaged = [number for number, line in enumerate(lines, start=1) if line.text.strip() and not line.path]
    kept = [line for line in lines if line.text.strip()]
    return Corrections(folder, tuple(kept), tuple(damaged))


def take_over(folder: Path, corrected: Mapping[str, str], classes: Mapping[str, str], place: Path) -> None:
    """A collection of one's own (``formats.folder``) of corrected photos: their classes are seen, others unseen.

    corrected : photo -> class, below the folder. classes : all classes with their descriptions. The photos are copied.
    """
    if place.exists():
        raise DataError(f"{place} is there already, and nothing is overwritten: name another folder")
    seen = set(corrected.values())
    if odd := sorted(name for name in classes if not is_plain(name)):
        raise DataError(f"{odd[0]!r} cannot be the name of a folder: choose one of letters and digits")
    if not seen or not set(classes) - seen:
        what = "no photo has a class" if not seen else "every class has photos"
        raise DataError(f"{what}: a collection needs classes with photos, and by --labels classes without any")
    rows = [
        {"class_name": name, "role": "seen" if name in seen else "unseen", "description": text or name}
        for name, text in classes.items()
    ]
    with folder_written_whole(place) as new:
        for photo, name in corrected.items():
            target = new / "images" / folder_of(name) / "__".join(PurePosixPath(photo).parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / photo, target)
        pd.DataFrame(rows).to_csv(new / "classes.csv", index=False)


def digest_of(photo: Path) -> str:
    """What the content of a photo is known by; empty where it cannot be read."""
    try:
        with photo.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST]
    except OSError:
        return ""


def _line(text: str) -> Line:
    """A line by itself, so that a damaged one spoils no other."""
    try:
        text.encode()
        rows = (next(csv.reader([text], delimiter=mark, strict=True), []) for mark in SEPARATORS)
        cells = [unescaped(cell.strip()) for cell in next((row for row in rows if len(row) > 1), [])]
    except (csv.Error, UnicodeError):
        return Line(text)
    path, name, _, content = [*cells, "", "", "", ""][:4]
    fits = 2 <= len(cells) <= len(COLUMNS) and _is_below(path) and name.strip() and len(content) in (0, DIGEST)
    return Line(text, path, composed(name.strip()), content) if fits else Line(text)


def _is_below(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not PurePosixPath(path).is_absolute() and "\0" not in path


def written(corrections: Iterable[tuple[str, str, str]]) -> str:
    """The text of the file: photo, class and digest of every step."""
    return "".join(f"{line}\n" for line in (",".join(COLUMNS), *(_as_text(*step) for step in corrections)))


def _as_text(path: str, name: str, content: str) -> str:
    when, file = datetime.now(UTC).isoformat(timespec="seconds"), io.StringIO()
    csv.writer(file, lineterminator="").writerow(map(escaped, (path, name, when, content[:DIGEST])))
    return file.getvalue()


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="surrogateescape"))
