"""What a command prints beside its result: warnings and errors; everything else goes to the log file."""

import logging
import os

#: Set to anything, it brings all lines to the screen.
VERBOSE = "AEZSL_VERBOSE"

#: Marks a line as a result: ``log.info(..., extra=ON_SCREEN)``.
ON_SCREEN = {"on_screen": True}


class OnScreen(logging.Filter):
    """Lets warnings, errors and results (``ON_SCREEN``) through, and everything where the user asks for it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True for what is shown."""
        return record.levelno >= logging.WARNING or hasattr(record, "on_screen") or bool(os.environ.get(VERBOSE))


def install() -> None:
    """From now on the handler ``rich`` of conf/logging.yml, which was silent but for warnings, goes by ``OnScreen``.

    Kedro allows no filter of a project in a logging configuration. MLflow sets its own level when it is imported.
    """
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "INFO" if os.environ.get(VERBOSE) else "WARNING")
    for handler in logging.getLogger().handlers:
        if handler.get_name() == "rich" and not any(isinstance(known, OnScreen) for known in handler.filters):
            handler.setLevel(logging.NOTSET)
            handler.addFilter(OnScreen())
