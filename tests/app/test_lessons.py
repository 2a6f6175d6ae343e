"""A collection of one's own images, made by the page's questions; a short command stands in for the training."""

import gc
import hashlib
import sys
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from aezsl.app import visitors
from aezsl.app.library import Library
from aezsl.app.server import make_app
from aezsl.formats.folder import Folder
from aezsl.formats.images import read_image
from tests.helpers.colours import COLOURS, make_place, picture, visit
from tests.helpers.tabs import Tabs

pytestmark = pytest.mark.slow  # the stand-in is a process

#: Says that a step is done, and ends well unless the collection is called otherwise.
STAND_IN = """
import sys
from aezsl.machine.screen import report
report(done=1, total=2)
report(expected=["expect about 71% right names", "described more alike than any two seen classes: plum and teal"])
if "bad" in sys.argv[1]:
    report(error="no luck")
sys.exit("something else" if "bad" in sys.argv[1] else 0)
"""
CLASSES = [[name, text, role] for name, (role, text, _) in COLOURS.items()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = make_place(tmp_path_factory.mktemp("colours"))
    return replace(place, training=(sys.executable, "-c", STAND_IN, "{name}"))


@pytest.fixture
def page(place):
    with visit(make_app(Library(place))) as client:
        yield client


def ask(page, question, status=200, **about):
    answer = page.post(f"/api/{question}", json=about)
    assert answer.status_code == status, answer.text
    return answer.json()


def refused(page, **about):
    return ask(page, "begin", status=400, **about)["error"]


def begin(page, name, classes=CLASSES):
    return ask(page, "begin", name=name, classes=classes)["lesson"]


def send(page, lesson, number, content, status=200):
    assert page.post(f"/api/lesson?lesson={lesson}&class={number}", content=content).status_code == status


def train(page, lesson):
    """Train, and wait for the end."""
    ask(page, "train", lesson=lesson)
    while (answer := ask(page, "progress", lesson=lesson))["state"] == "training":
        time.sleep(0.02)
    return answer


def finish(page, name):
    """A collection with a photo of every seen class, trained."""
    lesson = begin(page, name)
    for number, (own, _, role) in enumerate(CLASSES):
        if role == "seen":
            send(page, lesson, number, picture(own))
    return train(page, lesson)


def colours_of(place, name):
    """Of every class of a collection the colours of its photos, as they lie on the disk."""
    files = sorted((place.root / "data/01_raw" / name / "images").glob("*/*"))
    found = {}
    for file in files:
        found.setdefault(file.parent.name, []).append(read_image(file).getpixel((0, 0)))
    return found


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
    other = visit(page.app)
    lessons = [begin(visitor, "our_colours") for visitor in (page, other)]
    for visitor, lesson, colour in zip((page, other), lessons, ("ruby", "grass"), strict=True):
        send(visitor, lesson, 0, picture(colour))
    send(other, lessons[0], 0, picture("sea"), status=400)  # whose it is not
    train(page, lessons[0])
    assert colours_of(place, "our_colours") == {"ruby": [COLOURS["ruby"][2]]}
    assert "already" in ask(other, "train", lesson=lessons[1], status=400)["error"]


def test_tabs_of_one_browser_do_not_mix_their_photos(page, place):
    first = begin(page, "first_tab", CLASSES)
    second = begin(page, "second_tab", CLASSES[::-1])
    last = len(CLASSES) - 1
    for shade in (0, 5):
        send(page, first, 0, picture("ruby", shade))
        send(page, second, last, picture("rose", shade))
    assert train(page, first)["name"] == "first_tab"
    send(page, second, last - 1, picture("grass"))
    assert train(page, second)["name"] == "second_tab"
    assert train(page, first)["name"] == "first_tab"  # asked again, it is done
    assert {name: len(found) for name, found in colours_of(place, "first_tab").items()} == {"ruby": 2}
    assert {name: len(found) for name, found in colours_of(place, "second_tab").items()} == {"ruby": 2, "grass": 1}
    assert colours_of(place, "second_tab")["ruby"][0] == COLOURS["rose"][2]
    for question in ("train", "progress"):
        ask(page, question, status=400)
        ask(page, question, status=400, lesson="another")


def test_photos_sent_together_are_all_there_and_one_that_is_sent_again_is_there_once(page, place):
    lesson = begin(page, "many_photos")
    with ThreadPoolExecutor(20) as tabs:
        list(tabs.map(lambda n: send(page, lesson, n % 2, picture("grass", n)), [*range(40), *range(10)]))
    train(page, lesson)
    found = colours_of(place, "many_photos")
    assert {name: len(set(photos)) for name, photos in found.items()} == {"ruby": 20, "grass": 20}
    assert sum(map(len, found.values())) == 40


def test_collections_that_are_begun_and_left_go_when_there_are_many(page, place, monkeypatch):
    monkeypatch.setattr(visitors, "MAX_LESSONS", 2)
    lessons = [begin(page, f"left_{number}") for number in range(3)]
    gc.collect()
    assert list(place.root.glob("data/01_raw/.left_0*")) == []
    send(page, lessons[0], 0, picture("ruby"), status=400)
    send(page, lessons[1], 0, picture("ruby"))


def test_a_page_that_is_closed_ends_its_training_and_leaves_nothing(place):
    sleep = "import time; from aezsl.machine.screen import report; report(done=1, total=2); time.sleep(600)"
    slow = replace(place, training=(sys.executable, "-c", sleep))
    with visit(make_app(Library(slow))) as page:
        for name in ("never_trained", "interrupted"):
            lesson = begin(page, name)
            send(page, lesson, 0, picture("ruby"))
        ask(page, "train", lesson=lesson)
        while (answer := ask(page, "progress", lesson=lesson))["share"] == 0:
            assert answer["state"] == "training"
            time.sleep(0.02)
        assert (place.root / "data/01_raw/interrupted").is_dir()
    left = [path.name for path in (place.root / "data/01_raw").iterdir()]
    assert not [name for name in left if "interrupted" in name or "never_trained" in name]


@pytest.mark.parametrize(
    "name",
    ["तोता", "cafe\u0301", "گل‌سرخ", "חתול", "👩🏽‍🚀", "ภาษาไทย", "བྱི་ལ", "鳥" * 90, "🦜" * 70],
    ids=["hindi", "decomposed", "joiner", "hebrew", "emoji", "thai", "tibetan", "90 of 3 bytes", "70 of 4 bytes"],
)
def test_a_class_may_be_named_in_any_script_and_at_any_length(page, place, name):
    own = unicodedata.normalize("NFC", name)
    lesson = begin(page, f"any_{hashlib.sha256(name.encode()).hexdigest()[:8]}", [[name, "a thing", "seen"], *CLASSES])
    for number, (_, _, role) in enumerate([[name, "", "seen"], *CLASSES]):
        if role == "seen":
            send(page, lesson, number, picture("ruby", number))
    answer = train(page, lesson)
    assert answer["state"] == "done"
    images = Folder(root=place.root / "data/01_raw" / answer["name"]).read().images
    assert (images["class_name"] == own).sum() == 1
    assert len(images) == 1 + sum(role == "seen" for _, _, role in CLASSES)


@pytest.mark.parametrize("name", ["../up", "a/b", "a\nb", "\u202eabc", "=1+1", "-x", "́a", "a.", "a:b", "\ue000", "~a"])
def test_names_that_are_none_are_refused(page, name):
    assert "cannot be the name" in refused(page, name="a", classes=[[name, "red", "seen"]])


def test_names_that_people_take_for_the_same_are_refused(page):
    for one, other in (("Ruby", "ruby"), ("caf\xe9", "cafe\u0301"), ("a b", "a  b")):
        assert "two classes" in refused(page, name="a", classes=[[one, "red", "seen"], [other, "red", "seen"]])


def test_what_cannot_be_taught_is_refused(page, place):
    assert "small letters" in refused(page, name="../up", classes=CLASSES)
    assert "already" in refused(page, name="colours", classes=CLASSES)  # there is a model of that name
    assert "cannot be the name" in refused(page, name="a", classes=[["../up", "red", "seen"]])
    assert "needs a description" in refused(page, name="a", classes=[["red", "", "seen"]])
    assert "two classes" in refused(page, name="a", classes=[CLASSES[0], CLASSES[0]])
    assert "at least 4 classes" in refused(page, name="a", classes=CLASSES[:2])
    assert "each with a name" in refused(page, name="a", classes="all")
    lesson = begin(page, "other")
    send(page, lesson, 0, b"no picture", status=400)
    send(page, lesson, 99, picture("ruby"), status=400)
    assert not (place.root / "data/01_raw/other").exists()


def test_nothing_is_mixed_or_lost_whatever_tabs_do_in_whatever_order(tmp_path, monkeypatch):
    """In short; ``python -m tests.campaign --tabs 2000`` does it at length."""
    monkeypatch.setattr(Tabs, "place", make_place(tmp_path))
    few = {"max_examples": 8, "stateful_step_count": 30, "deadline": None, "database": None, "derandomize": True}
    run_state_machine_as_test(Tabs, settings=settings(**few, suppress_health_check=list(HealthCheck)))
