from collections import Counter

import pandas as pd
import pytest
from PIL import Image

from aezsl.errors import ParameterError
from aezsl.formats import emoji as openmoji
from aezsl.formats.emoji import SOURCES, Emoji
from aezsl.pipelines.ingestion.nodes import IngestionSettings, select_data

PROPOSED = IngestionSettings()


@pytest.fixture(scope="module")
def benchmark():
    return Emoji().read()


@pytest.mark.slow
def test_people_and_hands_are_drawn_by_eight_artists_in_four_tones(benchmark):
    images, classes, _ = select_data(benchmark, PROPOSED)
    assert len(classes) == 147
    assert set(images["source"]) == set(SOURCES)
    assert set(Counter(zip(images["class_name"], images["source"], strict=True)).values()) == {4}


@pytest.mark.slow
def test_a_class_is_drawn_as_person_woman_and_man(benchmark):
    images = benchmark.images
    codes = images.loc[images["class_name"] == "firefighter", "image_id"].str.partition("/")[2]
    assert set(codes.str.partition("-")[0]) == {"1F9D1", "1F469", "1F468"}
    assert "man firefighter" not in set(benchmark.classes["class_name"])


@pytest.mark.slow
def test_things_are_drawn_once_by_every_artist(benchmark):
    images, classes, _ = select_data(benchmark, IngestionSettings(groups=["Food & Drink"], sources=[], complete=True))
    assert len(images) == len(SOURCES) * len(classes) > 800


@pytest.mark.slow
def test_artists_can_be_chosen(benchmark):
    images, _, _ = select_data(
        benchmark, IngestionSettings(groups=["Food & Drink"], sources=["Appl", "Goog"], complete=True)
    )
    typed, _, _ = select_data(benchmark, IngestionSettings(groups="Food & Drink", sources="Appl+Goog", complete=True))
    pd.testing.assert_frame_equal(typed, images)
    assert set(images["source"]) == {"Appl", "Goog"}
    with pytest.raises(ParameterError, match="Nokia"):
        select_data(benchmark, IngestionSettings(groups=[], sources=["Nokia"], complete=True))


@pytest.mark.slow
def test_text_holds_name_keywords_and_category(benchmark):
    text = benchmark.classes.set_index("class_name").loc["pizza", "text"]
    assert text.startswith("slice of pizza: ")
    assert "cheese" in text
    assert text.endswith("Food & Drink")


@pytest.mark.slow
def test_names_are_what_people_say(benchmark):
    names = set(benchmark.classes["class_name"])
    assert {"rabbit", "rabbit face", "tiger", "two-thirty", "carp streamer", "thumbs up", "person surfing"} <= names
    assert not {"rabbit2", "clock230", "+1", "surfer"} & names
    assert [name for name in names if "_" in name or ":" in name] == []


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.slow
def test_paths_are_real_drawings(benchmark, source):
    path = benchmark.images.loc[benchmark.images["source"] == source, "path"].iloc[100]
    with Image.open(path) as image:
        assert image.size == (72, 72)
        assert len(image.convert("RGB").getcolors(image.width * image.height)) > 5


def test_drawings_are_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    svg = tmp_path / "1F7E6.svg"
    svg.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 72"><path fill="blue" d="M0 0h72v72z"/></svg>'
    )
    (png, other) = openmoji.drawn([str(svg), "a.png"])
    assert other == "a.png"
    with Image.open(png) as image:
        assert image.convert("RGB").getpixel((60, 5)) == (0, 0, 255)
    svg.unlink()
    assert openmoji.drawn([str(svg)]) == [png]
