"""What is written whole, and what a killed writer leaves."""

import os

import pytest

from aezsl.machine import files
from aezsl.machine.files import clear_leftovers, folder_written_whole, written_whole
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
