"""The quick answer about one photo: that of ``name_images``, without the imports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn.datasets

from aezsl.serving.photos import name_one_photo, photo_model, plain_names
from aezsl.serving.zero_shot import name_images
from tests.benchmarks.bench_start import HEAVY, IMPORTED

PHOTO = Path(sklearn.datasets.__file__).parent / "images" / "flower.jpg"


@pytest.mark.slow
@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        "a flower, a dog, un chat",
        ["a rocket"],
        "dahlia, daisy, a wolf, a red fox",
        "a flower, none of these, flowers",
        "Blume, Stichsäge",
    ],
)
def test_the_answer_is_that_of_the_model_itself(labels, multi):
    photo_model()
    found, expected = name_one_photo(PHOTO, labels, None, "cpu", multi), name_images(PHOTO, labels, multi=multi)
    assert (found.paths, found.shown, found.none) == (expected.paths, expected.shown, expected.none)
    assert found.warnings == expected.warnings
    assert found.answers.texts() == expected.answers.texts()
    assert found.answers.labels() == expected.answers.labels()


@pytest.mark.parametrize(
    "labels", ["", '["a dog"]', "class_name,description\na,b", ["a dog", "A  Dog"], {"a": "b"}, ["a\tb"], ["a", 1]]
)
def test_what_is_more_than_names_is_left_to_others(labels):
    assert not plain_names(labels)


@pytest.mark.slow
def test_an_answer_imports_the_networks_and_no_more():
    photo_model()
    made = [sys.executable, "-c", IMPORTED.format(heavy=HEAVY), "classify", str(PHOTO), "--labels", "a flower, a dog"]
    said = subprocess.run(made, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    assert said[0].startswith("a flower")
    assert json.loads(said[-1]) == []
