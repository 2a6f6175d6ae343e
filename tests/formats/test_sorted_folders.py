import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aezsl.errors import DataError, StorageError
from aezsl.formats.sorted_folders import JOURNAL, finish_moves, former_copies, sort_files, sorted_places, undo_moves


def photos(folder: Path, n: int = 6) -> dict[str, str]:
    folder.mkdir(parents=True)
    names = [f"{i}.jpg" for i in range(n)]
    for i, name in enumerate(names):
        (folder / name).write_bytes(f"photo {i}".encode())
    places = sorted_places(names, [f"class {i % 2}" for i in range(n)])
    return {place: str(folder / name) for place, name in zip(places, names, strict=True)}


def contents(folder: Path) -> list[bytes]:
    files = [path for path in folder.rglob("*.jpg") if path.is_file()]
    return sorted({path.read_bytes() for path in files})


@pytest.mark.parametrize("how", ["copies", "links", "move"])
def test_every_image_lies_below_its_name(tmp_path, how):
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", files, how)
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == ["class 0", "class 1"]
    assert contents(tmp_path / "out") == [f"photo {i}".encode() for i in range(6)]
    assert len(list((tmp_path / "in").iterdir())) == (0 if how == "move" else 6)


def test_a_move_is_undone(tmp_path):
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", files, "move")
    assert undo_moves(tmp_path / "out") == 6
    assert contents(tmp_path / "in") == [f"photo {i}".encode() for i in range(6)]
    assert not (tmp_path / "out" / JOURNAL).exists()


def test_nothing_is_overwritten(tmp_path):
    files = photos(tmp_path / "in")
    place = tmp_path / "out" / next(iter(files))
    place.parent.mkdir(parents=True)
    place.write_bytes(b"another")
    with pytest.raises(DataError, match=place.name):
        sort_files(tmp_path / "out", files, "move")
    assert place.read_bytes() == b"another"
    assert len(list((tmp_path / "in").iterdir())) == 6


def test_undo_leaves_what_has_come_since(tmp_path):
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", files, "move")
    (tmp_path / "in" / "0.jpg").write_bytes(b"new")
    with pytest.raises(DataError, match=r"0\.jpg"):
        undo_moves(tmp_path / "out")
    assert (tmp_path / "in" / "0.jpg").read_bytes() == b"new"
    assert b"photo 0" in contents(tmp_path / "out")


def test_a_disk_without_second_names_takes_whole_copies(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", files, "move")
    assert contents(tmp_path / "out") == [f"photo {i}".encode() for i in range(6)]
    assert undo_moves(tmp_path / "out") == 6


KILLED = """
import os, signal, sys
from pathlib import Path
from aezsl.formats import sorted_folders
calls, at = 0, int(sys.argv[3])
def dying(function):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
os.link, os.fsync, Path.unlink = dying(os.link), dying(os.fsync), dying(Path.unlink)
files = dict(line.split("\\t") for line in Path(sys.argv[2]).read_text().splitlines())
sorted_folders.sort_files(Path(sys.argv[1]), files, "move")
"""


@pytest.fixture(params=[1, 2, 4, 6, 9])
def killed(tmp_path, request):
    """A move that was killed at one of its steps."""
    files = photos(tmp_path / "in")
    (tmp_path / "plan").write_text("\n".join(f"{place}\t{file}" for place, file in files.items()))
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out"), str(tmp_path / "plan"), str(request.param)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert contents(tmp_path) == [f"photo {i}".encode() for i in range(6)]
    return files


@pytest.mark.slow
def test_a_kill_loses_no_photo(tmp_path, killed):
    if (tmp_path / "out" / JOURNAL).exists():  # else nothing was moved
        undo_moves(tmp_path / "out")
    assert contents(tmp_path / "in") == [f"photo {i}".encode() for i in range(6)]


@pytest.mark.slow
def test_what_a_killed_run_had_planned_is_finished(tmp_path, killed):
    if not finish_moves(tmp_path / "out"):  # it had not begun
        sort_files(tmp_path / "out", killed, "move")
    assert {place for place in killed if (tmp_path / "out" / place).is_file()} == set(killed)
    assert list((tmp_path / "in").iterdir()) == []
    assert finish_moves(tmp_path / "out") == 0
    (tmp_path / "in" / "0.jpg").write_bytes(b"another photo of that name")
    assert finish_moves(tmp_path / "out") == 0
    assert contents(tmp_path / "in") == [b"another photo of that name"]


@pytest.mark.parametrize("how", ["copies", "links"])
def test_what_was_stopped_may_be_typed_again(tmp_path, how):
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", dict(list(files.items())[:3]), how)
    sort_files(tmp_path / "out", files, how)
    assert contents(tmp_path / "out") == [f"photo {i}".encode() for i in range(6)]
    (tmp_path / "out" / next(iter(files))).unlink()
    (tmp_path / "out" / next(iter(files))).write_bytes(b"another")
    with pytest.raises(DataError):
        sort_files(tmp_path / "out", files, how)


@pytest.mark.parametrize("how", ["copies", "links"])
def test_what_lies_there_by_an_earlier_name_is_found(tmp_path, how):
    files = photos(tmp_path / "in")
    sort_files(tmp_path / "out", files, how)
    (tmp_path / "out" / "class 1" / "0.jpg").write_bytes(b"another photo of that name")
    assert former_copies(tmp_path / "out", files, how) == []
    now = {place.replace("class 0/2", "new/2"): source for place, source in files.items()}
    sort_files(tmp_path / "out", now, how)
    assert former_copies(tmp_path / "out", now, how) == [tmp_path / "out" / "class 0" / "2.jpg"]
    assert former_copies(tmp_path, {"x/0.jpg": str(tmp_path / "in" / "0.jpg")}, how) == []


def test_a_full_disk_leaves_no_part_of_a_copy(tmp_path, monkeypatch):
    def full(source, target):
        Path(target).write_bytes(b"pho")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files = photos(tmp_path / "in")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copy2", full)
        with pytest.raises(StorageError, match=re.escape(str(tmp_path / "out" / next(iter(files))))):
            sort_files(tmp_path / "out", files, "copies")
    sort_files(tmp_path / "out", files, "copies")
    assert contents(tmp_path / "out") == [f"photo {i}".encode() for i in range(6)]
