"""Helpers of the adapter tests: throw-away trees, broken files, and errors that must name the file at fault."""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from aezsl.errors import DataError

#: Trees are written to disk, so few examples, and no deadline on a busy machine.
quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Names that file systems and text formats take: letters of several alphabets, no separators.
words = st.text(st.sampled_from("abcdefgxyzABC0123456789éß_+"), min_size=1, max_size=8)


@contextlib.contextmanager
def folder():
    """A new folder, gone afterwards (hypothesis runs many examples within one tmp_path)."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextlib.contextmanager
def refused(*parts):
    """Expect an error of our own that contains these parts."""
    with pytest.raises(DataError) as caught:
        yield
    message = str(caught.value)
    for part in parts:
        assert str(part) in message, f"{part!r} is not in: {message}"


def reference(*parts):
    """A file or folder of the reference data, or skip."""
    root = os.environ.get("AEZSL_REFERENCE_DATA")
    if not root:
        pytest.skip("AEZSL_REFERENCE_DATA is not set")
    path = Path(root, *parts)
    if not path.exists():
        pytest.skip(f"{path} is not in the reference data")
    return path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def numbered(values, start=1):
    return "".join(f"{i} {value}\n" for i, value in enumerate(values, start=start))


def cut(path, fraction):
    """Keep a part of the file's lines, always losing the last one, and half a line of what follows."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = int(fraction * (len(lines) - 1))
    following = lines[kept].rstrip()
    path.write_bytes(b"".join(lines[:kept]) + following[: len(following) // 2])


def drop_line(path, fraction):
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[int(fraction * (len(lines) - 1))]
    path.write_bytes(b"".join(lines))


def touch(root, relative):
    path = Path(root, relative)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path
