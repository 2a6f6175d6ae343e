"""Files written whole or not at all, and a digest of a file that does not read its content."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path, suffix: str = "") -> Iterator[Path]:
    """A place beside ``path`` to write to, which takes its name at the end: a reader sees the old file or the new one.

    suffix : what the temporary name ends in, for writers that go by it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_durably(path: Path, write: Callable[[Path], None]) -> None:
    """As ``written_whole``, and on the disk before it takes its name: a power cut leaves the old file or the new."""
    with written_whole(path) as temporary:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())


def file_digest(path: str | Path) -> str:
    """Changes when the file does; empty where there is no file. Cheap: the content is not read."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"
