"""``aezsl classify`` and ``aezsl name``, on photos that installed packages carry."""

import csv
import json
from pathlib import Path

import pytest
from PIL import Image

from aezsl.serving.photos import cached_file, photo_model
from aezsl.serving.zero_shot import classify
from tests.helpers.photos import LABELS, RIGHT, run

pytestmark = pytest.mark.slow  # reads networks


def test_a_photo_is_named_by_any_words(photos):
    done = run("classify", photos / "flower.jpg", "--labels", LABELS)
    assert done.exit_code == 0
    assert done.output.splitlines()[0].startswith("a flower")


def test_python_and_command_say_the_same(photos):
    done = run("classify", photos / "china.jpg", "--labels", LABELS, "--json")
    assert json.loads(done.output) == classify(photos / "china.jpg", LABELS)


def test_several_photos_have_a_line_each_and_what_cannot_be_read_is_listed(photos):
    (photos / "broken.jpg").write_bytes(b"no image")
    several = [photos / name for name in ("china.jpg", "broken.jpg", "flower.jpg")]
    table = run("classify", *several, "--labels", LABELS)
    assert table.exit_code == 3
    assert [line.split()[0] for line in table.stdout.splitlines()[1:]] == [str(several[0]), str(several[2])]
    assert "broken.jpg" in table.stderr
    named = json.loads(run("classify", *several, "--labels", LABELS, "--json").stdout)
    expected = classify(several[::2], LABELS)
    assert [named[str(photo)][0]["label"] for photo in several[::2]] == [answer[0]["label"] for answer in expected]


def test_a_folder_among_photos_is_refused_by_name(photos):
    done = run("classify", photos / "china.jpg", photos, "--labels", LABELS)
    assert done.exit_code == 2
    assert str(photos) in done.output


def test_the_model_from_the_cache_is_the_one_that_was_made(photos):
    first = classify(photos / "china.jpg", LABELS)
    assert cached_file().is_file()
    photo_model.__globals__["_kept"].cache_clear()
    assert classify(photos / "china.jpg", LABELS) == first


@pytest.mark.parametrize("alone", [True, False])
def test_a_folder_is_named_and_sorted(photos, tmp_path, alone):
    options = ["--alone"] if alone else []
    done = run("name", photos, "--labels", LABELS, "--csv", tmp_path / "a.csv", "--sort", "copies", *options)
    assert done.exit_code == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").open(encoding="utf-8-sig")))
    assert {Path(row["image"]).name: row["name"] for row in rows} == RIGHT
    assert {path.name: path.parent.name for path in (tmp_path / "photos_sorted").rglob("*.jpg")} == RIGHT


def test_moved_photos_come_back(photos, tmp_path):
    (photos / "flower.jpg").unlink()
    done = run("name", photos, "--labels", LABELS, "--sort", "move")
    assert done.exit_code == 0
    assert f"1 photo is in {tmp_path / 'photos_sorted'}, by name" in done.stderr
    assert not list(photos.iterdir())
    assert run("name", photos, "--undo").output == "1 photo is back in place\n"
    assert {path.name for path in photos.iterdir()} == {"china.jpg"}


def test_copies_by_an_earlier_name_are_told(photos, tmp_path):
    assert "note: " not in run("name", photos, "--labels", LABELS, "--sort", "copies").stderr
    run("correct", photos, "china.jpg", "a dog")
    done = run("name", photos, "--labels", LABELS, "--sort", "copies")
    assert done.exit_code == 0
    former = tmp_path / "photos_sorted" / "a temple" / "china.jpg"
    assert f"note: 1 photo is there by an earlier name, too, such as {former}" in done.stderr


@pytest.mark.parametrize("how", ["copies", "links"])
def test_copies_do_not_go_among_the_photos(photos, how):
    done = run("name", photos, "--labels", LABELS, "--sort", how, "--to", photos / "sorted")
    assert done.exit_code == 2
    assert "give another folder" in done.stderr
    assert not (photos / "sorted").exists()


def test_what_cannot_be_read_is_listed_and_the_rest_named(photos):
    (photos / "broken.jpg").write_bytes(b"no image")
    done = run("name", photos, "--labels", LABELS, "--json")
    assert done.exit_code == 3
    listed = done.stderr.splitlines()[-1]
    assert listed.strip().startswith(f"{photos / 'broken.jpg'} cannot be read")
    assert len(json.loads(done.stdout)) == 2


def test_labels_that_nothing_resembles_are_named(photos):
    done = run("classify", photos / "flower.jpg", "--labels", "cirrus cloud, stratus cloud")
    assert "cirrus cloud" in done.stderr


@pytest.mark.parametrize(
    ("image", "labels", "named"),
    [
        ("missing.jpg", LABELS, "missing.jpg"),
        ("flower.jpg", "", "labels"),
        ("flower.jpg", "a dog, a dog", "a dog"),
        ("flower.jpg", "a dog, \x07", "\x07"),
    ],
)
def test_bad_input_is_refused_by_name(photos, image, labels, named):
    done = run("classify", photos / image, "--labels", labels)
    assert done.exit_code == 1
    assert named in done.output or repr(named)[1:-1] in done.output


def test_labels_that_are_too_long_or_not_utf8_are_refused_by_name(photos, tmp_path):
    (tmp_path / "labels.txt").write_bytes("Bär\n".encode("latin-1"))
    done = run("classify", photos / "flower.jpg", "--labels-file", tmp_path / "labels.txt")
    assert (done.exit_code, "labels.txt" in done.output) == (1, True)
    assert "1,000" in run("classify", photos / "flower.jpg", "--labels", f"a dog, {'x' * 1_001}").output


def test_an_empty_folder_is_refused_by_name(tmp_path):
    done = run("name", tmp_path, "--labels", LABELS)
    assert done.exit_code == 1
    assert tmp_path.name in done.output


def test_other_scripts_are_read(photos):
    done = run("classify", photos / "flower.jpg", "--labels", "eine Blume, ein Hund, 汽车", "--json")
    assert json.loads(done.stdout)[0]["label"] == "eine Blume"


def test_order_of_labels_does_not_matter():
    picture = Image.effect_mandelbrot((240, 240), (-2, -1.5, 1, 1.5), 20).convert("RGB")
    names = LABELS.split(", ")
    there, back = ({one["label"]: one["score"] for one in classify(picture, order)} for order in (names, names[::-1]))
    assert there == pytest.approx(back)
