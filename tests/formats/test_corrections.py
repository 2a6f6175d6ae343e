"""corrections.csv: steps, undone ones, damaged lines, photos that have vanished or changed."""

import csv

import pytest
from PIL import Image

from aezsl.data.benchmark import ROLES
from aezsl.errors import DataError
from aezsl.formats.corrections import CORRECTIONS, read_corrections, take_over
from aezsl.formats.folder import Folder
from aezsl.formats.image_folders import read_new_images


@pytest.fixture
def folder(tmp_path):
    """Photos of different content, one below another folder."""
    for number, name in enumerate(["a.png", "b.png", "c, 2.png", "below/d.png"]):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(path)
    return tmp_path


def names(folder):
    return read_corrections(folder).names()[0]


def correct(folder, photo, name):
    return read_corrections(folder).correct(photo, name)


def test_the_last_step_of_a_photo_counts_and_steps_are_undone_one_by_one(folder):
    steps = [("a.png", "red fox"), ("c, 2.png", '=a "strange", name'), ("below/d.png", "wolf"), ("a.png", "jackal")]
    for photo, name in steps:
        correct(folder, photo, name)
    assert names(folder) == {"a.png": "jackal", "c, 2.png": '=a "strange", name', "below/d.png": "wolf"}
    with (folder / CORRECTIONS).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == [photo for photo, _ in steps]
    assert rows[1]["class"].startswith("'=")  # no formula for a spreadsheet
    assert read_corrections(folder).undo("c, 2.png")[1] == "c, 2.png"
    assert names(folder) == {"a.png": "jackal", "below/d.png": "wolf"}
    correct(folder, *steps[1])
    left = [len(names(folder)), *(len(read_corrections(folder).undo()[0].names()[0]) for _ in steps)]
    assert left == [3, 2, 2, 1, 0]
    with pytest.raises(DataError):
        read_corrections(folder).undo()


def test_damaged_lines_are_named_by_number_stay_and_spoil_no_other(folder):
    written = ["path,class", "a.png,fox", 'b.png,"wolf', "../x.png,fox", "b.png", "", "below/d.png;wolf", "c\udcff,fox"]
    (folder / CORRECTIONS).write_bytes("\n".join(written).encode(errors="surrogateescape"))
    found, doubts = read_corrections(folder).names()
    assert found == {"a.png": "fox", "below/d.png": "wolf"}
    assert read_corrections(folder).damaged == (3, 4, 5, 8)
    assert "3, 4, 5" in doubts[0]
    correct(folder, "b.png", "hare")
    kept = (folder / CORRECTIONS).read_bytes().decode(errors="surrogateescape").splitlines()
    assert [line for line in kept if line in written[1:]] == [line for line in written[1:] if line]
    assert names(folder) == {"a.png": "fox", "below/d.png": "wolf", "b.png": "hare"}


def test_photos_that_vanished_or_changed_are_named_and_passed_over(folder):
    for photo in ("a.png", "b.png", "below/d.png"):
        correct(folder, photo, "fox")
    (folder / "a.png").unlink()
    (folder / "b.png").write_bytes((folder / "c, 2.png").read_bytes())
    found, doubts = read_corrections(folder).names()
    assert found == {"below/d.png": "fox"}
    assert ["a.png" in doubts[0], "b.png" in doubts[1]] == [True, True]


@pytest.mark.parametrize("photo", ["e.png", "../a.png", "", "below"])
def test_a_photo_must_be_a_file_of_the_folder(folder, photo):
    with pytest.raises(DataError):
        correct(folder, photo, "fox")
    assert not (folder / CORRECTIONS).exists()


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_a_class_needs_a_name_on_one_line(folder, name):
    with pytest.raises(DataError):
        correct(folder, "a.png", name)


def test_a_photo_may_be_named_from_where_the_command_runs(folder, monkeypatch):
    monkeypatch.chdir(folder / "below")
    correct(folder, "d.png", "cafe\u0301")
    assert names(folder) == {"below/d.png": "caf\u00e9"}


def test_new_images_come_with_their_corrections(folder, caplog):
    assert read_new_images(folder).corrections == {}
    correct(folder, "below/d.png", "fox")
    new = read_new_images(folder)
    assert new.corrections == {"below/d.png": "fox"}
    assert CORRECTIONS not in caplog.text  # it is not listed among what is not read


def test_corrected_photos_become_seen_images_of_a_collection(folder, tmp_path_factory):
    corrected = {"a.png": "fox", "below/d.png": "wolf"}
    place = tmp_path_factory.mktemp("raw") / "mine"
    with pytest.raises(DataError):
        take_over(folder, corrected, dict.fromkeys(["fox", "wolf"], ""), place)  # no unseen class is left
    take_over(folder, corrected, {"fox": "a red animal", "wolf": "", "hare": ""}, place)
    found = Folder(root=str(place)).read()
    assert dict(zip(found.classes["class_name"], found.classes["role"], strict=True)) == {
        "fox": "seen",
        "wolf": "seen",
        "hare": "unseen",
    }
    assert set(found.classes["role"]) == set(ROLES)
    assert sorted(found.images["class_name"]) == ["fox", "wolf"]
    assert (place / "images/wolf/below__d.png").read_bytes() == (folder / "below/d.png").read_bytes()
    with pytest.raises(DataError):
        take_over(folder, corrected, {"fox": "", "wolf": "", "hare": ""}, place)
