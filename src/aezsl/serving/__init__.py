"""A trained model and all it takes to use it; imports neither kedro nor the report."""

#: Of files of models: raised when those of an older version cannot be read any more.
VERSION = 10
