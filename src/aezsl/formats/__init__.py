"""Readers of foreign files: benchmarks as their authors lay them out, word vectors, feature files. No kedro.

A new benchmark is its file here with a ``BenchmarkFormat``, one line in ``FORMATS``, an environment below ``conf`` and
a paragraph in ``data/01_raw/README.md``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aezsl.errors import DataError

if TYPE_CHECKING:
    from aezsl.formats.reading import BenchmarkFormat

#: name -> class, in the module of that name; imported when asked for.
FORMATS = {
    "awa2": "AWA2",
    "cub": "CUB",
    "dogs": "Dogs",
    "emoji": "Emoji",
    "folder": "Folder",
    "imagenet": "ImageNet",
    "sun": "SUN",
    "webdataset": "WebDataset",
    "xlsa17": "Xlsa17",
}


def make_format(name: str, /, **options: Any) -> "BenchmarkFormat":
    """The reader of the format called ``name``."""
    if name not in FORMATS:
        raise DataError(f"unknown format {name!r}; expected one of: {', '.join(FORMATS)}")
    reader: BenchmarkFormat = getattr(import_module(f"aezsl.formats.{name}"), FORMATS[name])(**options)
    return reader
