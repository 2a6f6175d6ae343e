"""What a command prints beside its result: warnings and errors; everything else goes to the log file."""

import logging
import os
import sys
from functools import partial

from aezsl.machine.progress import say

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
