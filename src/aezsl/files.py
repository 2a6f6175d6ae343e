"""Files written whole or not at all, and known by their content."""

import hashlib
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


def content_digest(content: bytes) -> str:
    """Of the bytes of a file: equal where the content is, and nowhere else."""
    return f"{len(content)}-{hashlib.blake2b(content, digest_size=16).hexdigest()}"


def file_digest(path: str | Path) -> str:
    """``content_digest`` of a file, read piece by piece; empty where there is no regular file that can be read."""
    try:
        if not Path(path).is_file():
            return ""
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
            return f"{file.tell()}-{digest.hexdigest()}"
    except OSError:
        return ""


def folder_digest(folder: Path) -> str:
    """Of the names and contents of all files below a folder, but for hidden ones and pages of text about it."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and path.suffix != ".md" and not any(part.startswith(".") for part in relative.parts):
            digest.update(f"{relative.as_posix()}\0{file_digest(path)}\0".encode())
    return digest.hexdigest()


def has_digest(path: str | Path, digest: str) -> bool:
    """Whether a file has the content that ``digest`` was taken of; one of another size is not read."""
    try:
        if f"{Path(path).stat().st_size}" != digest.partition("-")[0]:
            return False
    except OSError:
        return False
    return file_digest(path) == digest
