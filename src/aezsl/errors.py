"""The project's own errors: each message says what was expected, what came, and what to do."""


class AezslError(Exception):
    """Base of them all."""


class DataError(AezslError, ValueError):
    """A file, a table or an array is not what it should be."""
