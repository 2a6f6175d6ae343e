from collections import Counter

import pytest
from PIL import Image

from aezsl.formats.emoji import Emoji
from aezsl.pipelines.ingestion.nodes import select_data

CONCRETE = ["Animals & Nature", "Food & Drink", "Activities", "Travel & Places", "Objects"]


@pytest.fixture(scope="module")
def benchmark():
    return Emoji().read()


def test_785_concrete_classes_are_drawn_by_all_seven_vendors(benchmark):
    images, classes, _ = select_data(benchmark, {"groups": CONCRETE, "sources": [], "complete": True})
    assert len(classes) == 785
    assert len(images) == 785 * 7
    assert set(Counter(images["class_name"]).values()) == {7}


def test_vendors_can_be_chosen(benchmark):
    images, _, _ = select_data(benchmark, {"groups": ["Food & Drink"], "sources": ["Appl", "Goog"], "complete": True})
    assert set(images["source"]) == {"Appl", "Goog"}
    with pytest.raises(ValueError, match=r"unknown sources \['Nokia'\]"):
        select_data(benchmark, {"groups": [], "sources": ["Nokia"], "complete": True})


def test_text_holds_name_keywords_and_category(benchmark):
    text = benchmark.classes.set_index("class_name").loc["pizza", "text"]
    assert text.startswith("slice of pizza: ")
    assert "cheese" in text
    assert text.endswith("Food & Drink")


def test_paths_are_real_drawings(benchmark):
    with Image.open(benchmark.images["path"].iloc[100]) as image:
        assert image.size == (72, 72)
