"""Files written whole or not at all, and known by their content."""

import errno
import hashlib
import os
import re
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from aezsl.errors import StorageError
from aezsl.machine.processes import Process

#: Names of what is being written: whose it is, so that the leftovers of a killed process can be told and cleared.
_BEING_WRITTEN = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<started>\d+)-[0-9a-f]{32}(?P<suffix>\.\w+)?(-journal|-wal|-shm)?"
)
#: Folders that this process has cleared of leftovers.
_cleared: set[Path] = set()
#: Bytes of the name of a file at most.
LONGEST = 255
#: Bytes of a file that is read at once.
SMALL = 2**20
#: What stands between an archive and the place of a member in it.
MEMBER = "::"
_MEMBER = re.compile(rf"(.*?){MEMBER}([0-9]{{1,18}})\+([0-9]{{1,18}}){MEMBER}.*", re.DOTALL)


_ROOM = "make room on its disk (free bytes, free inodes, your quota)"
_OPEN = "make it writable, or work in a folder that is"
#: What to do where a file cannot be written, by the system's reason.
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _ROOM),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _OPEN),
    errno.EIO: "its disk may be failing: look at that",
    errno.EFBIG: "this system allows no file as large: raise the limit",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n)",
}
#: What a command ends with.
KEPT = "then run the same command again: what was finished before is kept"


def storage_error(error: OSError, path: Path | None = None) -> StorageError | None:
    """The sentence for an error of the disk, which the system may tell without a path; None for any other error."""
    if isinstance(error, StorageError) or error.errno not in _REMEDIES:
        return error if isinstance(error, StorageError) else None
    what = f"{path} cannot be written" if path else f"{error.filename or 'a file'} cannot be read or written"
    return StorageError(f"{what} ({os.strerror(error.errno)}): {_REMEDIES[error.errno]}, {KEPT}")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """An error of the disk names the file that was being written."""
    try:
        yield
    except Exception as error:  # datasets wrap what their writers raise
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and (told := storage_error(cause, path)):
            raise told from error
        raise


@contextmanager
def written_whole(path: Path, suffix: str = "") -> Iterator[Path]:
    """A place beside ``path`` to write to, which takes its name at the end: a reader sees the old file or the new one.

    suffix : what the temporary name ends in, for writers that go by it.
    """
    with _told(path):
        temporary = _place_beside(path, suffix)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            _without(temporary)


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """As ``written_whole`` for a folder. A folder cannot be replaced in one step: for a moment there is none."""
    with _told(path):
        new, old = _place_beside(path), _place_beside(path, ".old")
        try:
            yield new
            if path.exists():
                path.rename(old)
            new.rename(path)
        finally:
            _put_back(old, path)
            for folder in (new, old):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def folder_of_this_process(path: Path) -> Iterator[Path]:
    """An empty folder beside ``path`` that is removed at the end; if this process is killed, by the next that comes."""
    folder = _place_beside(path)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _without(temporary: Path) -> None:
    """Remove what has not taken its name; where that fails the next process does it."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def leftovers(folder: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    """What processes that are gone left behind while they wrote to the folder, and the parts of its name."""
    for path in list(folder.glob(".*")):
        match = _BEING_WRITTEN.fullmatch(path.name)
        if match and Process(match["host"], int(match["pid"]), int(match["started"])).is_gone:
            yield path, match


def clear_leftovers(folder: Path) -> None:
    """Remove them."""
    for path, match in leftovers(folder):
        if match["suffix"] == ".old":
            _put_back(path, folder / match["name"])
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _put_back(old: Path, path: Path) -> None:
    """The former folder, if the new one never took its place."""
    if old.exists() and not path.exists():
        old.rename(path)


def _place_beside(path: Path, suffix: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent not in _cleared:
        _cleared.add(path.parent)
        clear_leftovers(path.parent)
    own = Process.this()
    tail = f".{own.host}-{own.pid}-{own.started}-{uuid.uuid4().hex}{suffix}"
    short = len(os.fsencode(path.name)) + len(tail) < LONGEST
    return path.with_name(f".{path.name if short else hashlib.sha256(os.fsencode(path.name)).hexdigest()}{tail}")


def write_durably(path: Path, write: Callable[[Path], None]) -> None:
    """As ``written_whole``, and on the disk before it takes its name: a power cut leaves the old file or the new."""
    with written_whole(path) as temporary:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())


def member_path(archive: Path, offset: int, size: int, name: str) -> str:
    """The path of a member of an archive that is not compressed: where it begins in the file, and how long it is."""
    return f"{archive}{MEMBER}{offset}+{size}{MEMBER}{name}"


def split_member(path: str | Path) -> tuple[Path, int, int] | None:
    """Archive, offset and size of what ``member_path`` gave; nothing for a file of its own, whatever its name."""
    member = _MEMBER.fullmatch(str(path))
    if not member or os.path.isfile(path):
        return None
    return Path(member[1]), int(member[2]), int(member[3])


def read_member(archive: Path, offset: int, size: int) -> bytes:
    """The bytes of a member."""
    with archive.open("rb") as file:
        file.seek(offset)
        content = file.read(size)
    if len(content) < size:
        raise OSError(f"{archive} ends before the member at {offset}")
    return content


def read_below(root: Path, name: str, most: int) -> bytes:
    """The bytes of a regular file below a folder, or of a member of an archive there (``member_path``).

    Every part of the name is opened relative to the folder before it, and no link is followed: nothing can be moved or
    linked elsewhere between a check and the reading. ValueError and OSError say why not.
    """
    member = None
    try:
        descriptor = _open_below(root, name)
    except FileNotFoundError:
        member = _MEMBER.fullmatch(name)
        if not member:
            raise
        descriptor = _open_below(root, member[1])
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        size = int(member[3]) if member else status.st_size
        if size > most:
            raise ValueError(f"it has {size} bytes, at most {most} are read")
        file.seek(int(member[2]) if member else 0)
        content = file.read(size)
    if len(content) < size:
        raise ValueError("the file ends before it")
    return content


def _open_below(root: Path, name: str) -> int:
    """A descriptor of what a relative name without ``..`` leads to."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise ValueError("it must lie below the folder")
    if os.open not in os.supports_dir_fd:
        raise ValueError("this system cannot open files relative to a folder")
    plain = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would keep the reader waiting for ever
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for number, part in enumerate(parts, 1):
        try:
            inside = os.open(part, plain | (os.O_DIRECTORY if number < len(parts) else 0), dir_fd=here)
        finally:
            os.close(here)
        here = inside
    return here


def content_digest(content: bytes) -> str:
    """A digest of the bytes of a file: equal where the content is equal, and nowhere else."""
    return f"{len(content)}-{hashlib.blake2b(content, digest_size=16).hexdigest()}"


def file_digest(path: str | Path) -> str:
    """``content_digest`` of a file, read piece by piece; empty where there is no regular file that can be read."""
    try:
        if member := split_member(path):
            return content_digest(read_member(*member))
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size <= SMALL:  # the buffer for pieces takes longer than reading it
                return content_digest(file.read())
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
            return f"{file.tell()}-{digest.hexdigest()}"
    except OSError:
        return ""


def folder_digest(folder: Path) -> str:
    """A digest of names and contents of all files below a folder, but for hidden ones and pages of text about it."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and path.suffix != ".md" and not any(part.startswith(".") for part in relative.parts):
            digest.update(f"{relative.as_posix()}\0{file_digest(path)}\0".encode())
    return digest.hexdigest()


def has_digest(path: str | Path, digest: str) -> bool:
    """Whether a file has the content that ``digest`` was taken of; one of another size is not read."""
    member = split_member(path)
    try:
        size = member[2] if member else os.stat(path).st_size
        if f"{size}" != digest.partition("-")[0]:
            return False
    except OSError:
        return False
    return file_digest(path) == digest
