"""The project's own errors: each message says what was expected, what came, and what to do.

Whoever runs a command reads the message and nothing else; the traceback goes to the log file (``aezsl.hooks.crash``).
Most are ValueErrors too, as scikit-learn's conventions want it of methods. What a library raises on the way is an
accident, and is shown with its traceback.
"""


def counted(n: int, several: str, one: str) -> str:
    """A number and what is counted: "1 photo is", "3 photos are"."""
    return f"{n} {one if n == 1 else several}"


class AezslError(Exception):
    """Base of them all."""


class DataError(AezslError, ValueError):
    """A file, a table or an array is not what it should be."""


class ParameterError(AezslError, ValueError):
    """A parameter, a name on the command line or an argument is unknown or out of range."""


class StorageError(AezslError, OSError):
    """A disk is full, read-only or failing."""


class NotReadyError(AezslError, RuntimeError):
    """Something must be done first: a method trained, a database repaired."""
