"""How a command ends that the project itself refuses: with its sentence, and the traceback in a file."""

import logging
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from aezsl.errors import AezslError
from aezsl.machine.files import storage_error
from aezsl.machine.screen import report

#: Where tracebacks go, in the folder that the command runs in; begun again above the size.
LOG_FILE = "info.log"
LARGEST = 2**20

#: What to do after an end that no data is to blame for.
RESUME = "run the same command again: what was finished before is kept"

#: Where Kedro looks for what somebody has typed. Its messages are sentences.
TYPED = "kedro.framework.session.session", "kedro.pipeline.pipeline", "kedro.utils"

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def own_error(error: BaseException | None) -> BaseException | None:
    """The project's error behind what Kedro raises: datasets wrap whatever their loading raises."""
    while error is not None and not isinstance(error, AezslError):
        error = error.__cause__ if type(error).__module__.startswith("kedro") else None
    return error


def explained(error: BaseException | None) -> str | None:
    """The sentence that a command ends with, where no traceback is needed to know what to do."""
    if own := own_error(error):
        return str(own)
    if isinstance(error, KeyboardInterrupt):
        return f"Stopped; {RESUME}"
    if _of_kedro(error):
        return str(error)
    while error is not None:
        if isinstance(error, OSError) and (told := storage_error(error)):
            return str(told)
        if isinstance(error, MemoryError):
            return f"There is too little memory ({error or 'Python could get no more'}): end other programs; {RESUME}"
        if type(error).__module__.startswith("sqlite3"):
            import mlflow

            from aezsl.hooks.database import remedy

            uri = mlflow.get_tracking_uri()
            return f"{uri}, where MLflow keeps runs, cannot be read or written ({error}): {remedy(error)}"
        error = error.__cause__ or error.__context__
    return None


def _of_kedro(error: BaseException | None) -> bool:
    """Whether Kedro refuses what somebody has typed: a pipeline, a node, a dataset, a tag, a runner that it has not."""
    if not isinstance(error, ValueError | AttributeError):
        return False
    raised_in = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(raised_in) and raised_in[-1] in TYPED


def install(log: str = LOG_FILE) -> None:
    """From now on the project's own errors end a command in their sentence; all others are shown as before.

    log : the file that keeps tracebacks; none without a name.
    """
    if getattr(sys.excepthook, "of_aezsl", False):
        return
    sys.excepthook = make_hook(sys.excepthook, log)
    for handler in logging.getLogger().handlers:
        if handler.get_name() == "rich":
            handler.addFilter(_is_worth_a_line)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Beside an error of the project, nothing of Kedro's: its node repeats the message, its runner tells how to resume.

    The sentence is all that a user reads, and once; the log file has the rest.
    """
    return not record.name.startswith("kedro.") or explained(sys.exc_info()[1]) is None


def make_hook(others: Hook, log: str = LOG_FILE) -> Hook:
    """A hook for uncaught errors; ``others`` is for those that are not the project's."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sentence = explained(error)
        report(error=sentence or f"{kind.__name__}: {error}")
        if sentence is None:
            others(kind, error, trace)
            return
        print(f"\n{sentence}", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt) or not log:
            return
        if path := keep_traceback(error, Path.cwd() / log):
            print(f"(where in the code: {path})", file=sys.stderr)

    hook.of_aezsl = True  # type: ignore[attr-defined]
    return hook


def keep_traceback(error: BaseException, path: Path) -> Path | None:
    """Append the traceback to the file; None where nothing can be written."""
    lines = "".join(traceback.format_exception(error))
    try:
        mode = "w" if path.exists() and path.stat().st_size > LARGEST else "a"
        with path.open(mode, encoding="utf-8") as file:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(sys.argv)}\n{lines}\n")
    except OSError:
        return None
    return path
