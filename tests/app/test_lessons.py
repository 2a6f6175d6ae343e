"""A collection of one's own images, made by the page's questions; a short command stands in for the training."""

import gc
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
from starlette.testclient import TestClient

from aezsl.app.library import Library
from aezsl.app.server import make_app
from aezsl.formats.images import read_image
from tests.helpers.colours import COLOURS, make_place, picture

pytestmark = pytest.mark.slow  # the stand-in is a process

#: Says that a step is done, if asked to say more than its result; ends well unless the collection is called otherwise.
STAND_IN = """
import os, sys
if os.environ.get("AEZSL_VERBOSE"):
    print("Completed 1 out of 2 tasks")
    print("expect about 71% right names\\ndescribed more alike than any two seen classes: plum and teal")
sys.exit("no luck\\n(where in the code: info.log)" if "bad" in sys.argv[1] else 0)
"""
CLASSES = [[name, text, role] for name, (role, text, _) in COLOURS.items()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = make_place(tmp_path_factory.mktemp("colours"))
    return replace(place, training=(sys.executable, "-c", STAND_IN, "{name}"))


@pytest.fixture
def page(place):
    with TestClient(make_app(Library(place))) as client:
        yield client


def ask(page, question, status=200, **about):
    answer = page.post(f"/api/{question}", json=about)
    assert answer.status_code == status, answer.text
    return answer.json()


def refused(page, **about):
    return ask(page, "begin", status=400, **about)["error"]


def finish(page, name):
    """Begin, send a photo of every seen class, train, and wait for the end."""
    ask(page, "begin", name=name, classes=CLASSES)
    for number, (own, _, role) in enumerate(CLASSES):
        if role == "seen":
            assert page.post(f"/api/lesson?class={number}", content=picture(own)).status_code == 200
    ask(page, "train")
    while (answer := ask(page, "progress"))["state"] == "training":
        time.sleep(0.02)
    return answer


def test_the_collection_lies_where_the_command_line_looks_for_it(page, place):
    answer = {"state": "done", "share": 0.5, "sentence": "", "name": "my_colours"}
    told = "Expect about 71% right names. Described more alike than any two seen classes: plum and teal."
    assert finish(page, "my_colours") == {**answer, "expected": told}
    folder = place.root / "data/01_raw/my_colours"
    table = pd.read_csv(folder / "classes.csv")
    assert table["class_name"].tolist() == list(COLOURS)
    assert table["role"].tolist() == [role for role, _, _ in COLOURS.values()]
    seen = {name for name, (role, _, _) in COLOURS.items() if role == "seen"}
    assert {path.parent.name for path in folder.glob("images/*/*.png")} == seen
    assert "already" in refused(page, name="my_colours", classes=CLASSES)


def test_a_training_that_fails_says_why(page):
    answer = finish(page, "bad_colours")
    assert answer["state"] == "failed"
    assert answer["sentence"] == "the training ended early: no luck"
    assert finish(page, "bad_colours") == answer  # under the same name, which is free again


def test_visitors_with_the_same_name_in_mind_do_not_mix_their_photos(page, place):
    other = TestClient(page.app)
    for visitor, colour in ((page, "ruby"), (other, "grass")):
        ask(visitor, "begin", name="our_colours", classes=CLASSES)
        assert visitor.post("/api/lesson?class=0", content=picture(colour)).status_code == 200
    ask(page, "train")
    while ask(page, "progress")["state"] == "training":
        time.sleep(0.02)
    (photo,) = (place.root / "data/01_raw/our_colours/images/ruby").iterdir()
    assert read_image(photo).getpixel((0, 0)) == COLOURS["ruby"][2]
    assert "already" in ask(other, "train", status=400)["error"]
    ask(other, "begin", name="their_colours", classes=CLASSES)
    gc.collect()
    assert list(place.root.glob("data/01_raw/.our_colours*")) == []  # what was not trained is gone with its lesson


def test_a_page_that_is_closed_ends_its_training_and_leaves_nothing(place):
    sleep = "import time; print('Completed 1 out of 2 tasks', flush=True); time.sleep(600)"
    slow = replace(place, training=(sys.executable, "-c", sleep))
    with TestClient(make_app(Library(slow))) as page:
        for name in ("never_trained", "interrupted"):
            ask(page, "begin", name=name, classes=CLASSES)
            assert page.post("/api/lesson?class=0", content=picture("ruby")).status_code == 200
        ask(page, "train")
        while ask(page, "progress")["share"] == 0:
            time.sleep(0.02)
        assert (place.root / "data/01_raw/interrupted").is_dir()
    left = [path.name for path in (place.root / "data/01_raw").iterdir()]
    assert not [name for name in left if "interrupted" in name or "never_trained" in name]


def test_what_cannot_be_taught_is_refused(page, place):
    assert "small letters" in refused(page, name="../up", classes=CLASSES)
    assert "already" in refused(page, name="colours", classes=CLASSES)  # there is a model of that name
    assert "cannot be the name" in refused(page, name="a", classes=[["../up", "red", "seen"]])
    assert "needs a description" in refused(page, name="a", classes=[["red", "", "seen"]])
    assert "two classes" in refused(page, name="a", classes=[CLASSES[0], CLASSES[0]])
    assert "at least 4 classes" in refused(page, name="a", classes=CLASSES[:2])
    assert "each with a name" in refused(page, name="a", classes="all")
    assert "begun" in ask(page, "train", status=400)["error"]
    ask(page, "begin", name="other", classes=CLASSES)
    assert page.post("/api/lesson?class=0", content=b"no picture").status_code == 400
    assert page.post("/api/lesson?class=99", content=picture("ruby")).status_code == 400
    assert not (place.root / "data/01_raw/other").exists()
