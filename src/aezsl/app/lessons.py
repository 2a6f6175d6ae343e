"""Teach it: a new collection of one's own images, made on the page and trained as the command line does."""

import re
import shutil
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pandas as pd

from aezsl.app.opened import MAX_CLASSES, MAX_NAME
from aezsl.errors import DataError
from aezsl.formats.images import read_image
from aezsl.serving.requests import MAX_DESCRIPTION

#: Seen classes that a collection needs at least.
LEAST_SEEN = 3

#: Photos of a collection at most.
MAX_LESSON_PHOTOS = 2_000

#: How a running command says how many of its steps are done.
STEP = re.compile(r"Completed (\d+) out of (\d+) tasks")


@dataclass
class Lesson:
    """A collection under way: its classes, its photos in a folder of its own, then the training."""

    name: str
    classes: list[dict[str, str]]
    folder: Path
    count: int = 0
    share: float = 0.0
    state: str = "collecting"  # training, done, failed
    sentence: str = ""
    log: deque[str] = field(default_factory=lambda: deque(maxlen=40))


class Lessons:
    """Makes collections below ``data/01_raw`` of a project, and trains on one at a time, as a process of its own.

    command : what trains, as on the command line, with ``{name}`` where the collection's name belongs.
    """

    def __init__(self, root: Path, models: Path, command: Sequence[str]) -> None:
        self._root, self._raw, self._models, self._command = root, root / "data" / "01_raw", models, command
        self._busy = Lock()

    def begin(self, name: str, classes: Any) -> Lesson:
        """A new collection, still hidden: ``classes`` is a list of name, description, and seen or unseen."""
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
            raise DataError("the name of a collection must be small letters, digits and _, such as my_birds")
        if (self._raw / name).exists() or (self._models / name).exists():
            raise DataError(f"there is a collection called {name!r} already: choose another name")
        rows = _checked(classes)
        folder = self._raw / f".{name}.new"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "images").mkdir(parents=True)
        pd.DataFrame(rows).to_csv(folder / "classes.csv", index=False)
        return Lesson(name, rows, folder)

    def add(self, lesson: Lesson, number: int, content: bytes) -> None:
        """A photo of a class, saved as the image that was decoded and nothing else of the file."""
        if lesson.state != "collecting" or not 0 <= number < len(lesson.classes):
            raise DataError("expected a photo of a class of a collection that has been begun")
        if lesson.count >= MAX_LESSON_PHOTOS:
            raise DataError(f"a collection may have {MAX_LESSON_PHOTOS} photos: leave some out")
        picture = read_image(content, "the photo")
        folder = lesson.folder / "images" / lesson.classes[number]["class_name"]
        folder.mkdir(exist_ok=True)
        picture.save(folder / f"{lesson.count:04d}.png")
        lesson.count += 1

    def train(self, lesson: Lesson) -> None:
        """Give the collection its place and start the training; whoever asks is told how far it is."""
        if lesson.state != "collecting":
            raise DataError("this collection is being trained already")
        if not self._busy.acquire(blocking=False):
            raise DataError("another training is under way: wait until it is done")
        lesson.folder = lesson.folder.rename(self._raw / lesson.name)
        lesson.state = "training"
        Thread(target=self._run, args=(lesson,), daemon=True).start()

    def _run(self, lesson: Lesson) -> None:
        command = [part.replace("{name}", lesson.name) for part in self._command]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "replace"}
        try:
            with subprocess.Popen(command, cwd=self._root, text=True, **pipes) as process:
                assert process.stdout is not None  # asked for above
                for line in process.stdout:
                    lesson.log.append(line.rstrip())
                    if found := STEP.search(line):
                        lesson.share = int(found[1]) / int(found[2])
            good = process.returncode == 0
            lesson.sentence = "" if good else f"the training ended early: {_reason(lesson.log)}"
            lesson.state = "done" if good else "failed"
        except OSError as error:
            lesson.sentence, lesson.state = f"the training could not be started ({error})", "failed"
        finally:
            self._busy.release()


def _checked(classes: Any) -> list[dict[str, str]]:
    """Rows of classes.csv."""
    fits = isinstance(classes, list) and all(
        isinstance(one, list) and len(one) == 3 and all(isinstance(part, str) for part in one) for one in classes
    )
    if not fits or not 0 < len(classes) <= MAX_CLASSES:
        raise DataError(f"expected 1 to {MAX_CLASSES} classes, each with a name, a description and its kind")
    rows = [{"class_name": n.strip(), "role": role, "description": text.strip()} for n, text, role in classes]
    names = [row["class_name"] for row in rows]
    for row in rows:
        own = row["class_name"]
        if not re.fullmatch(rf"[^\W_][\w .()'-]{{0,{MAX_NAME - 1}}}", own) or own.endswith("."):
            raise DataError(f"{own!r} cannot be the name of a class: use letters, digits, blanks, - and _")
        if names.count(own) > 1:
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


def _reason(log: deque[str]) -> str:
    """The last line that says something, without what is for programmers."""
    lines = [line.strip() for line in log if line.strip() and "kedro" not in line.lower()]
    return lines[-1] if lines else "its log has more"
