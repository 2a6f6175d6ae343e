"""Teach it: a new collection of one's own images, made on the page and trained as the command line does."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT
from threading import Lock, Thread
from typing import Any

import pandas as pd

from aezsl.app.opened import LOOKING, MAX_CLASSES, MAX_NAME
from aezsl.errors import DataError
from aezsl.formats.images import read_image
from aezsl.formats.names import alike_as, composed, folder_of, is_plain
from aezsl.machine.files import folder_of_this_process, leftovers, written_whole
from aezsl.machine.processes import tied
from aezsl.machine.screen import PROGRESS_FILE
from aezsl.selection.folds import LEAST_SEEN
from aezsl.serving.requests import MAX_DESCRIPTION

#: Photos of a collection at most.
MAX_LESSON_PHOTOS = 2_000

#: Seconds that a training gets to end when the page is closed.
PATIENCE = 30

#: What lies in the hidden folder of a collection while it is trained: a mark, how far it is, and all it prints.
MARK, PROGRESS, PRINTED = "training", "progress.json", "printed.txt"


@dataclass(eq=False)
class Lesson:
    """A collection under way: its classes, its photos in a folder of its own, then the training."""

    name: str
    classes: list[dict[str, str]]
    folder: Path  # hidden, and gone with the lesson, as long as nothing has been learnt from it
    photos: set[tuple[int, bytes]] = field(default_factory=set)  # class and digest of each
    state: str = "collecting"  # training, done, failed
    sentence: str = ""  # why it failed
    reported: dict[str, Any] = field(default_factory=dict)  # what the training said last: ``machine.screen.report``
    forget: Callable[[], Any] = lambda: None  # removes what is hidden
    lock: Lock = field(default_factory=Lock)  # whoever adds a photo or starts the training holds it

    def progress(self) -> dict[str, Any]:
        """How far the training is, and what it says of names that nobody can check."""
        with suppress(OSError):  # before the training has said anything, and when it is over
            self.reported = json.loads(self.folder.with_name(PROGRESS).read_text(encoding="utf-8"))
        share = self.reported.get("done", 0) / self.reported.get("total", 1)
        expected = " ".join(f"{told[0].upper()}{told[1:]}." for told in self.reported.get("expected", []))
        return {"state": self.state, "share": share, "name": self.name, "sentence": self.sentence, "expected": expected}


class Lessons:
    """Makes collections below ``data/01_raw`` of a project, and trains on one at a time, as a process of its own.

    command : what trains, as on the command line, with ``{name}`` where the collection's name belongs.
    """

    def __init__(self, root: Path, models: Path, command: Sequence[str]) -> None:
        self._root, self._raw, self._models, self._command = root, root / "data" / "01_raw", models, command
        self._busy = Lock()
        self._begun: weakref.WeakSet[Lesson] = weakref.WeakSet()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: Thread | None = None
        self._closed = False
        if command:
            self._clear()

    def _clear(self) -> None:
        """Remove what pages left that were killed, so that its names are free.

        A collection that was being trained goes too, unless a model has come of it or somebody has changed it since.
        """
        for hidden, parts in leftovers(self._raw):
            mark, place = hidden / MARK, self._raw / parts["name"]
            if mark.exists() and not (self._models / place.name).exists():
                began = mark.stat().st_mtime
                if all(path.stat().st_mtime <= began for path in (place, *place.rglob("*")) if path.exists()):
                    shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(hidden, ignore_errors=True)

    def begin(self, name: str, classes: Any) -> Lesson:
        """A new collection, still hidden: ``classes`` is a list of name, description, and seen or unseen."""
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
            raise DataError("the name of a collection must be small letters, digits and _, such as my_birds")
        self._require_free(name)
        rows = _checked(classes)
        removal = ExitStack()
        lesson = Lesson(name, rows, removal.enter_context(folder_of_this_process(self._raw / name)) / name)
        lesson.forget = weakref.finalize(lesson, removal.close)
        self._begun.add(lesson)
        (lesson.folder / "images").mkdir(parents=True)
        pd.DataFrame(rows).to_csv(lesson.folder / "classes.csv", index=False)
        return lesson

    def _require_free(self, name: str) -> None:
        if (self._raw / name).exists() or (self._models / name).exists():
            raise DataError(f"there is a collection called {name!r} already: choose another name")

    def add(self, lesson: Lesson, number: int, content: bytes) -> None:
        """A photo of a class, saved as the image that was decoded and nothing else of the file.

        A photo that is sent again, as after an answer that was lost, is there once.
        """
        with lesson.lock:
            self._add(lesson, number, content)

    def _add(self, lesson: Lesson, number: int, content: bytes) -> None:
        if lesson.state != "collecting" or not 0 <= number < len(lesson.classes):
            raise DataError("expected a photo of a class of a collection that has been begun")
        photo = number, hashlib.sha256(content).digest()
        if photo in lesson.photos:
            return
        if len(lesson.photos) >= MAX_LESSON_PHOTOS:
            raise DataError(f"a collection may have {MAX_LESSON_PHOTOS} photos: leave some out")
        with LOOKING:
            picture = read_image(content, "the photo")
        folder = lesson.folder / "images" / folder_of(lesson.classes[number]["class_name"])
        folder.mkdir(exist_ok=True)
        with written_whole(folder / f"{len(lesson.photos):04d}.png") as file:
            picture.save(file, "PNG")
        lesson.photos.add(photo)

    def train(self, lesson: Lesson) -> None:
        """Give the collection its place and start the training; whoever asks is told how far it is."""
        with lesson.lock:
            if lesson.state == "failed":
                raise DataError("this collection could not be trained: press Train again")
            if lesson.state == "collecting":  # else it has been asked for before
                self._start(lesson)

    def _start(self, lesson: Lesson) -> None:
        if not self._busy.acquire(blocking=False):
            raise DataError("another training is under way: wait until it is done")
        try:
            self._require_free(lesson.name)  # somebody else may have been faster
            mark = lesson.folder.with_name(MARK)
            mark.touch()
            lesson.folder.rename(self._raw / lesson.name)
            os.utime(mark)
        except BaseException:
            self._busy.release()
            raise
        lesson.state = "training"
        self._thread = Thread(target=self._train, args=(lesson,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the training that is under way, and remove every collection that nothing has been learnt from."""
        self._closed = True
        self._end()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        for lesson in list(self._begun):
            lesson.forget()

    def _end(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # it is tied to it

    def _train(self, lesson: Lesson) -> None:
        try:
            lesson.sentence = self._run(lesson)
            lesson.progress()  # for the last time
            if lesson.sentence:  # the name is free again, to try with other photos or words
                shutil.rmtree(self._models / lesson.name, ignore_errors=True)
                (self._raw / lesson.name).rename(lesson.folder)
                lesson.folder.with_name(MARK).unlink()
            else:
                shutil.rmtree(lesson.folder.parent, ignore_errors=True)
        finally:
            self._busy.release()
            lesson.state = "failed" if lesson.sentence else "done"

    def _run(self, lesson: Lesson) -> str:
        """Run the command to its end; what went wrong, if anything did."""
        command = tied([part.replace("{name}", lesson.name) for part in self._command])
        printed = lesson.folder.with_name(PRINTED)
        environment = {**os.environ, PROGRESS_FILE: str(lesson.folder.with_name(PROGRESS))}
        options: dict[str, Any] = {"cwd": self._root, "env": environment, "start_new_session": True}
        try:
            with (
                printed.open("wb") as output,
                subprocess.Popen(command, stdin=PIPE, stdout=output, stderr=STDOUT, **options) as process,
            ):
                self._process = process
                if self._closed:
                    self._end()
                process.wait()  # with its input open
        except OSError as error:
            return f"the training could not be started ({error})"
        if not process.returncode:
            return ""
        lesson.progress()
        return f"the training ended early: {lesson.reported.get('error') or _last_line(printed)}"


def _checked(classes: Any) -> list[dict[str, str]]:
    """Rows of classes.csv."""
    fits = isinstance(classes, list) and all(
        isinstance(one, list) and len(one) == 3 and all(isinstance(part, str) for part in one) for one in classes
    )
    if not fits or not 0 < len(classes) <= MAX_CLASSES:
        raise DataError(f"expected 1 to {MAX_CLASSES} classes, each with a name, a description and its kind")
    rows = [{"class_name": composed(n.strip()), "role": role, "description": text.strip()} for n, text, role in classes]
    names = [alike_as(row["class_name"]) for row in rows]
    for row in rows:
        own = row["class_name"]
        if not is_plain(own) or len(own) > MAX_NAME:
            raise DataError(f"{own!r} cannot be the name of a class: use letters, digits, blanks, - and _")
        if names.count(alike_as(own)) > 1:
            raise DataError(f"there are two classes called {own!r}: give each a name of its own")
        if not row["description"] or len(row["description"]) > MAX_DESCRIPTION:
            raise DataError(
                f"{own!r} needs a description of at most {MAX_DESCRIPTION} characters: what does it look like?"
            )
        if row["role"] not in ("seen", "unseen"):
            raise DataError(f"{own!r} must be seen or unseen, got {row['role']!r}")
    if sum(row["role"] == "seen" for row in rows) < LEAST_SEEN or all(row["role"] == "seen" for row in rows):
        raise DataError(f"give photos of at least {LEAST_SEEN} classes, and describe at least one without photos")
    return rows


def _last_line(printed: Path) -> str:
    """What a training that has said nothing of an error printed last."""
    lines = printed.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
