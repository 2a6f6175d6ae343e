"""What is written whole, and what a killed writer leaves."""

import errno
import os

import pytest

from aezsl.errors import StorageError
from aezsl.machine import files
from aezsl.machine.files import clear_leftovers, folder_written_whole, member_path, read_below, written_whole
from aezsl.machine.processes import Process, this_host

GONE = 2**22 - 1


def leftover(folder, name, pid=GONE, host=None, suffix=""):
    return folder / f".{name}.{host or this_host()}-{pid}-1700000000-{'0' * 32}{suffix}"


def test_leftovers_of_processes_that_are_gone_are_cleared_by_the_next_write(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_cleared", set())
    own = Process.this()
    kept = [
        leftover(tmp_path, "a.csv", host="0" * 8),  # of another machine
        tmp_path / f".a.csv.{own.host}-{own.pid}-{own.started}-{'1' * 32}",  # at work
        tmp_path / ".gitkeep",
        tmp_path / ".mlflow.db.lock",
        tmp_path / "a.csv",
    ]
    gone = [
        leftover(tmp_path, "a.csv"),
        leftover(tmp_path, "m.npz", suffix=".npz"),
        leftover(tmp_path, "m.db", suffix="-journal"),
    ]
    for path in kept + gone:
        path.touch()
    (leftover(tmp_path, "folder") / "inside").mkdir(parents=True)
    with written_whole(tmp_path / "b.csv") as path:
        path.write_text("b")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "b.csv"])


def test_a_folder_is_replaced_or_stays(tmp_path):
    place = tmp_path / "model"
    for content in ("first", "second"):
        with folder_written_whole(place) as new:
            new.mkdir()
            (new / "file").write_text(content)

    def fail():
        with folder_written_whole(place) as new:
            new.mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (place / "file").read_text() == "second"
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_comes_back_whose_writer_was_killed_between_the_two_renames(tmp_path):
    old = leftover(tmp_path, "model", suffix=".old")
    old.mkdir()
    (old / "file").write_text("former")
    clear_leftovers(tmp_path)
    assert (tmp_path / "model" / "file").read_text() == "former"
    assert os.listdir(tmp_path) == ["model"]


def test_an_error_of_the_disk_names_the_file_and_leaves_the_former_one(tmp_path):
    for place, write in ((tmp_path / "table", written_whole), (tmp_path / "model", folder_written_whole)):
        with write(place) as new:
            new.mkdir() if write is folder_written_whole else new.touch()

        def fail(place=place, write=write):
            with write(place) as new:
                (new.mkdir() if write is folder_written_whole else new.touch())
                raise OSError(errno.ENOSPC, "as the system says it, without a name")

        with pytest.raises(StorageError, match=str(place)):
            fail()
    assert sorted(os.listdir(tmp_path)) == ["model", "table"]


def test_every_part_of_a_name_is_opened_below_its_folder(tmp_path):
    (tmp_path / "inside/deep").mkdir(parents=True)
    (tmp_path / "inside/deep/a").write_bytes(b"abcdef")
    (tmp_path / "inside/link").symlink_to(tmp_path / "inside/deep")
    (tmp_path / "secret").write_bytes(b"secret")
    root = tmp_path / "inside"
    assert read_below(root, "deep/a", 6) == b"abcdef"
    assert read_below(root, member_path("deep/a", 2, 3, "x.png"), 3) == b"cde"
    for name in ("link/a", "../secret", "deep/../../secret", str(tmp_path / "secret"), "deep", "", "link/a::0+2::x"):
        with pytest.raises((OSError, ValueError)):
            read_below(root, name, 6)
    for name, most in (("deep/a", 5), ("deep/a::4+3::x", 6), ("deep/a::0+7::x", 6)):
        with pytest.raises(ValueError):
            read_below(root, name, most)
