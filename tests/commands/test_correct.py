"""``aezsl correct``, and that names and predictions follow what it writes."""

import numpy as np
import pandas as pd
import pytest

from aezsl.data.vectors import Vectors
from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING
from aezsl.formats.corrections import CORRECTIONS
from aezsl.formats.image_folders import read_new_images
from aezsl.pipelines.predict.nodes import classify
from aezsl.reporting.names import PredictSettings
from aezsl.serving.classes import placed
from aezsl.serving.photos import photo_model
from aezsl.serving.zero_shot import find_classes, name_images
from tests.helpers.photos import LABELS, run

pytestmark = pytest.mark.slow  # reads networks


@pytest.mark.parametrize("alone", [[], ["--alone"]])
def test_a_corrected_name_is_taken_over_until_it_is_undone(photos, alone):
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


def test_photos_worth_a_look_are_listed_but_for_corrected_ones(photos):
    run("correct", photos, "china.jpg", "a temple")
    done = run("correct", photos, "--ask", "--labels", LABELS)
    assert done.exit_code == 0
    photo, *pairs = done.output.splitlines()
    assert photo.split()[0] == "flower.jpg"
    assert all(line.startswith("mixed up: ") for line in pairs)


def test_another_description_shows_the_names_that_it_moves(photos):
    before = run("name", photos, "--labels", LABELS).output
    done = run("correct", photos, "--labels", LABELS, "--try", "a flower: a fast red racing car")
    assert done.exit_code == 0
    *moved, pair = done.output.splitlines()
    assert [line.split()[0] for line in moved] == ["flower.jpg"]
    assert pair.startswith("mixed up before: ")
    assert run("name", photos, "--labels", LABELS).output == before
    assert run("correct", photos, "--labels", LABELS, "--try", "a bird: it flies").exit_code == 1


def test_corrected_photos_are_taken_over_as_a_collection(photos, tmp_path):
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
def test_what_cannot_be_done_is_refused(photos, given, code):
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


def test_python_knows_which_photos_are_corrected(photos):
    run("correct", photos, "flower.jpg", "a car")
    named = name_images(photos, LABELS, together=True)
    assert [named.shown[place] for place in named.corrected] == ["flower.jpg"]
    assert named.names[named.shown.index("flower.jpg")] == "a car"


def test_predict_reads_corrections_too(photos):
    run("correct", photos, "china.jpg", "a dog")
    run("correct", photos, "flower.jpg", NONE_OF_THESE)
    (photos / "classes.csv").write_text("class_name\na temple\na flower\na dog\n")
    new = read_new_images(photos)
    rows = photo_model().encode()(new.images["path"].tolist())
    features = Vectors(new.images["image_id"].to_numpy(), rows, "", {})
    found = classify(None, PredictSettings(method="photos"), new, features, {}).set_index("image_id")
    assert found.loc["china.jpg", "predicted"] == "a dog"
    assert found["none_of_these"].to_dict() == {"china.jpg": False, "flower.jpg": True}
    (photos / "china.jpg").unlink()
    assert "china.jpg" in read_new_images(photos).doubts[0]
