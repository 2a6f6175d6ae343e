"""``aezsl correct``, and that names and predictions follow what it writes."""

import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING
from aezsl.formats.corrections import CORRECTIONS
from aezsl.serving.corrected import placed
from aezsl.serving.photos import photo_model
from aezsl.serving.zero_shot import find_classes, name_images
from tests.commands.test_classify import LABELS, photos, run  # noqa: F401

pytestmark = pytest.mark.slow  # reads networks


@pytest.mark.parametrize("alone", [[], ["--alone"]])
def test_a_corrected_name_is_taken_over_until_it_is_undone(photos, alone):  # noqa: F811
    before = run("name", photos, "--labels", LABELS, *alone).output
    assert run("correct", photos, "china.jpg", "a pagoda").exit_code == 0
    assert run("correct", photos, photos / "flower.jpg", NONE_OF_THESE).exit_code == 0
    done = run("name", photos, "--labels", LABELS, *alone)
    lines = done.output.splitlines()
    assert any(line.startswith("china.jpg") and "a pagoda" in line and "corrected" in line for line in lines)
    assert any(line.startswith("flower.jpg") and NONE_OF_THESE in line for line in lines)
    assert any(line.startswith("note: ") and "'a pagoda'" in line for line in lines)
    assert run("correct", photos, "--undo").exit_code == 0
    assert run("correct", photos, "china.jpg", "--undo").exit_code == 0
    assert run("name", photos, "--labels", LABELS, *alone).output == before


def test_photos_worth_a_look_are_listed_but_for_corrected_ones(photos):  # noqa: F811
    run("correct", photos, "china.jpg", "a temple")
    done = run("correct", photos, "--ask", "--labels", LABELS)
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == ["flower.jpg"]


def test_corrected_photos_are_taken_over_as_a_collection(photos, tmp_path):  # noqa: F811
    run("correct", photos, "china.jpg", "a temple")
    run("correct", photos, "flower.jpg", NONE_OF_THESE)
    place = tmp_path / "mine"
    assert run("correct", photos, "--collection", place, "--labels", LABELS).exit_code == 0
    roles = pd.read_csv(place / "classes.csv").set_index("class_name")["role"]
    assert roles.to_dict() == {"a temple": "seen", "a flower": "unseen", "a dog": "unseen", "a car": "unseen"}
    assert [path.name for path in place.rglob("*.jpg")] == ["china.jpg"]
    assert run("correct", photos, "--collection", place, "--labels", LABELS).exit_code == 1


@pytest.mark.parametrize(
    ("given", "code"),
    [([], 2), (["china.jpg"], 2), (["--undo", "--ask"], 2), (["--undo"], 1), (["x.jpg", "a cat"], 1), (["--ask"], 2)],
)
def test_what_cannot_be_done_is_refused(photos, given, code):  # noqa: F811
    done = run("correct", photos, *given)
    assert done.exit_code == code
    assert "Traceback" not in done.output
    assert not (photos / CORRECTIONS).exists()


def test_corrections_become_numbers_of_classes():
    recipe = photo_model().recipe
    targets = find_classes(recipe, LABELS)
    corrections = {"a.jpg": "a dog", "b.jpg": NONE_OF_THESE, "c.jpg": "a dgo", "d.jpg": "a car"}
    found, rows, notes = placed(recipe, targets, ["b.jpg", "c.jpg", "x.jpg", "a.jpg"], corrections)
    assert rows == {0: NOTHING, 1: 4, 3: 2}
    assert found.names == [*targets.names, "a dgo"]
    np.testing.assert_array_equal(found.vectors[:4], targets.vectors)
    assert ["'a dgo'" in notes[0], "'a dog'" in notes[0]] == [True, True]


def test_python_knows_which_photos_are_corrected(photos):  # noqa: F811
    run("correct", photos, "flower.jpg", "a car")
    named = name_images(photos, LABELS, together=True)
    assert [named.shown[place] for place in named.corrected] == ["flower.jpg"]
    assert named.names[named.shown.index("flower.jpg")] == "a car"
