"""Progress of long work: a bar on a terminal, a line per tenth elsewhere, a file for another program."""

import json
import logging
import math
import os
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from aezsl.machine.files import written_whole

#: Seconds between two lines, at least: short work has none.
LINE_INTERVAL = 5.0

#: The environment variable that names a file for ``report``.
PROGRESS_FILE = "AEZSL_PROGRESS_FILE"
_reported: dict[str, Any] = {}


class Tenths(tqdm):  # type: ignore[type-arg]  # it is generic in the stubs only
    """As ``tqdm``, but a line of its own for each tenth, for logs and pipes in which a bar cannot be redrawn."""

    def __init__(self, *args: Any, **options: Any) -> None:
        done, total = options.get("initial", 0), options.get("total")
        self._tenth, self._last = 10 * done // total if total else 0, time.monotonic()
        super().__init__(*args, **{**options, "mininterval": 0, "maxinterval": math.inf, "miniters": 1})
        if done and not self.disable:
            self._say(f"{done:,} of {total:,} are there already")

    def close(self) -> None:
        """Nothing is left to be wiped off a screen."""
        self.disable = True

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """A line, where another tenth is done and the last line is some seconds old."""
        tenth = 10 * self.n // self.total if self.total else 0
        if tenth > self._tenth and time.monotonic() - self._last >= LINE_INTERVAL:
            self._tenth, self._last = tenth, time.monotonic()
            self._say(f"{10 * tenth}% ({self.n:,} of {self.total:,})")

    def _say(self, what: str) -> None:
        print(f"{self.desc.removesuffix(': ')}: {what}", file=sys.stderr, flush=True)


def progress_bar(*args: Any, **options: Any) -> Any:
    """A bar over an iterable, or to be updated by hand; arguments as ``tqdm`` takes them. It goes when all is done.

    A terminal has one bar at a time: work that begins beside other work, in another thread or as a part, has none.
    """
    if not sys.stderr.isatty():
        return Tenths(*args, **options)
    beside = len(getattr(tqdm, "_instances", ())) > 0
    return tqdm(*args, **{**options, "leave": False, "disable": options.get("disable", False) or beside})


def say(text: str) -> None:
    """Print to the screen, above a bar if there is one."""
    tqdm.write(text, file=sys.stdout)
    sys.stdout.flush()


def report(**facts: Any) -> None:
    """Where a file is asked for, rewrite it as one JSON object of these facts and those reported before.

    done, total : nodes of the run. expected : what to expect of the results. error : why the run ended early.
    """
    if name := os.environ.get(PROGRESS_FILE):
        _reported.update(facts)
        with suppress(OSError), written_whole(Path(name)) as file:  # a run does not end because nobody can follow it
            file.write_text(json.dumps(_reported), encoding="utf-8")


#: Set to anything, it brings all lines to the screen.
VERBOSE = "AEZSL_VERBOSE"

#: Marks a line as a result: ``log.info(..., extra=ON_SCREEN)``.
ON_SCREEN = {"on_screen": True}


class OnScreen(logging.Filter):
    """Lets warnings, errors and results (``ON_SCREEN``) through, and everything where the user asks for it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True for what is shown."""
        return record.levelno >= logging.WARNING or hasattr(record, "on_screen") or bool(os.environ.get(VERBOSE))


class Lines(logging.Handler):
    """A warning is a line, a result its text: no columns of times, nothing folded, and no bar torn apart by it.

    tables : the handler that shows whatever has a traceback.
    """

    def __init__(self, tables: logging.Handler) -> None:
        super().__init__()
        self.set_name(tables.get_name())
        self.filters = tables.filters
        self._tables = tables

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record."""
        if record.exc_info:
            self._tables.emit(record)
            return
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        say(f"{level}{record.getMessage()}")


def _without_log(handler: logging.FileHandler, record: logging.LogRecord) -> None:
    """Go on without the log file where it cannot be written, and say so once: Python would print a traceback a line."""
    logging.getLogger().removeHandler(handler)
    print(f"warning: {handler.baseFilename} cannot be written ({sys.exc_info()[1]}): no log is kept", file=sys.stderr)


def install() -> None:
    """From now on the handler ``rich`` of conf/logging.yml, which was silent but for warnings, goes by ``OnScreen``.

    It prints ``Lines`` unless everything is asked for. Kedro allows neither filter nor handler of a project in a
    logging configuration. MLflow sets its own level when it is imported.
    """
    verbose = bool(os.environ.get(VERBOSE))
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "INFO" if verbose else "WARNING")
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, logging.FileHandler):
            handler.setLevel(logging.NOTSET)
            handler.handleError = partial(_without_log, handler)  # type: ignore[method-assign]
    for handler in root.handlers[:]:
        if handler.get_name() == "rich" and not any(isinstance(known, OnScreen) for known in handler.filters):
            handler.setLevel(logging.NOTSET)
            shown = handler if verbose else Lines(handler)
            shown.addFilter(OnScreen())
            root.removeHandler(handler)
            root.addHandler(shown)
