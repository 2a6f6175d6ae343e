"""Photos in groups by name, corrected on the page: what the server answers, and a visitor with a browser."""

import csv
import io
import zipfile

import pytest

from aezsl.app.library import Library, installed_photos
from aezsl.app.server import make_app
from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.formats.corrections import COLUMNS
from aezsl.serving.trained import TrainedModel
from tests.helpers.chromium import Page, chromium, require_chromium, served
from tests.helpers.colours import encode, make_place, visit
from tests.helpers.photos import ANY, SHOWN, ask

pytestmark = pytest.mark.slow  # the network is loaded

DRAG = """
const [photo, group] = arguments, data = new DataTransfer();
const how = { dataTransfer: data, bubbles: true, cancelable: true };
const fire = (element, kind) => element.dispatchEvent(new DragEvent(kind, how));
fire(photo, "dragstart"); fire(group, "dragover"); fire(group, "drop");
"""
GROUPS = """
const groups = [...document.querySelectorAll("#groups section")];
return Object.fromEntries(groups.map((one) => [one.ariaLabel, one.querySelectorAll("li").length]));
"""


def test_corrected_photos_have_their_names_and_others_are_worth_a_look(page, photos):
    before = ask(page, "sort", photos=photos, classes=ANY, corrections={})
    assert [answer["names"][0] for answer in before["answers"]] == SHOWN
    assert sorted(before["worth"]) == [0, 1, 2]
    given = {photos[0]: "a dog", photos[1]: None, "of another photo": "a dog"}
    after = ask(page, "sort", photos=photos, classes=ANY, corrections=given)
    assert [answer["said"] for answer in after["answers"]][:2] == [["a dog"], []]
    assert after["answers"][2] == before["answers"][2]  # three photos say nothing of each other
    assert after["worth"] == [2]
    assert ask(page, "sort", photos=photos, classes=ANY, corrections={}) == before


def test_corrections_come_down_as_the_file_that_commands_read(page, photos):
    given = {"corrections": {photos[0]: "a dog", photos[1]: None}, "files": ["b/x.jpg", "y.jpg", "z.jpg"]}
    text = ask(page, "corrected", photos=photos, classes=ANY, **given)["csv"]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == COLUMNS
    assert [(row["path"], row["class"], row["content"]) for row in rows] == [
        ("b/x.jpg", "a dog", photos[0][:16]),
        ("y.jpg", NONE_OF_THESE, photos[1][:16]),
    ]
    places = ask(page, "places", photos=photos, classes=ANY, **given)["places"]
    assert places == ["a dog/b__x.jpg", "none of these/y.jpg", f"{SHOWN[2]}/z.jpg"]


@pytest.mark.parametrize("given", [None, ["x"], {"x": 3}, {"x": "no such class"}])
def test_corrections_that_mean_nothing_are_refused(page, photos, given):
    assert ask(page, "sort", 400, photos=photos, classes=ANY, corrections=given)["error"]


def test_a_pair_that_is_asked_for_is_told_apart_by_known_classes(page, photos):
    pair = ["a temple", "a dog"]
    found = ask(page, "sort", photos=photos, classes=ANY, corrections={}, pair=pair)["confused"]
    (one,) = [one for one in found if set(one["names"]) == set(pair)]
    assert all(len(known) == 3 for known in one["apart"])
    assert not set(one["apart"][0]) & set(one["apart"][1])
    assert one["photos"] < 0.1
    assert (
        ask(page, "sort", photos=photos, classes=ANY, corrections={}, pair=["a dog", "no name"])["confused"]
        == found[:-1]
    )
    assert ask(page, "sort", 400, photos=photos, classes=ANY, corrections={}, pair="a dog")["error"]


def test_why_tells_what_the_neighbours_in_the_folder_are_called(page, photos):
    about = {"photos": photos, "classes": ANY, "first": SHOWN[1], "second": "a dog", "place": 1}
    near = ask(page, "why", corrections={photos[0]: "a dog"}, **about)["neighbours"]
    assert {one["place"]: one["said"] for one in near} == {0: ["a dog"], 2: [SHOWN[2]]}
    assert ask(page, "why", 400, **{**about, "place": 3})["error"]


def test_a_model_that_names_every_photo_by_itself_takes_corrections_too(tmp_path, monkeypatch):
    monkeypatch.setattr(TrainedModel, "encode", lambda self: encode)
    page = visit(make_app(Library(make_place(tmp_path))))
    about = {"model": "colours/eszsl"}
    photo = ask(page, "example", number=0, **about)["photo"]
    classes = [["plum", "red blue dark"], ["mint", "green pale"]]
    for name in ("plum", "mint"):
        found = ask(page, "sort", photos=[photo], classes=classes, corrections={photo: name}, **about)
        assert found["answers"][0]["said"] == [name]
        assert found["worth"] == []


def test_a_visitor_drags_types_undoes_reloads_and_has_tabs_apart(place, tmp_path):
    require_chromium()
    files = "\n".join(map(str, installed_photos()))
    with served(place) as address, chromium(tmp_path) as browser:
        page = Page(browser)

        def opened():
            browser.get(address)
            page.until(lambda: page.count("#examples button") == 3)
            page.all("#files")[0].send_keys(files)
            page.until(lambda: page.count("#gallery li") == 3 and not page.text("#adding"))
            page.press("#tab-sort")
            page.until(lambda: page.count("#groups .tiles li") == 3)

        def groups():
            return browser.execute_script(GROUPS)

        def group(name):
            return next(one for one in page.all("#groups .group") if one.text.startswith(name))

        opened()
        first = groups()
        assert first == dict.fromkeys(SHOWN, 1)
        browser.execute_script(DRAG, group(SHOWN[0]).find_element("css selector", "button"), group("a dog"))
        page.until(lambda: "a dog" in groups())
        assert "Corrected: 1 of 3" in page.text("#sort-note")
        group(SHOWN[1]).find_element("css selector", "button").send_keys("\ue007")  # Enter
        page.type("#which-new", "rose: a flower with many petals\ue007")
        page.until(lambda: "rose" in groups() and "Corrected: 2 of 3" in page.text("#sort-note"))
        third = groups()
        width, there = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= there
        opened()  # again: what was corrected is
        page.until(lambda: groups() == third)
        page.press("#sort-zip")
        page.until((tmp_path / "photos by name.zip").is_file)
        browser.switch_to.new_window("tab")
        opened()
        assert groups() == first
        browser.close()
        browser.switch_to.window(browser.window_handles[0])
        page.press("#undo")
        page.until(lambda: "rose" not in groups() and "a dog" in groups())
        page.press("#undo")
        page.until(lambda: groups() == first)
        assert [entry["message"] for entry in browser.get_log("browser")] == []
    with zipfile.ZipFile(tmp_path / "photos by name.zip") as found:
        rows = list(csv.DictReader(io.StringIO(found.read("corrections.csv").decode())))
        assert {row["path"] for row in rows} < set(found.namelist())
        assert sorted(row["class"] for row in rows) == ["a dog", "rose"]


def test_a_visitor_sees_why_and_tells_mixed_up_names_apart(place, tmp_path):
    require_chromium()
    with served(place) as address, chromium(tmp_path) as browser:
        page = Page(browser)
        browser.get(address)
        page.until(lambda: page.count("#examples button") == 3)
        page.type("#words", "a temple, a house, a rose, a daisy, a person")
        page.all("#files")[0].send_keys("\n".join(map(str, installed_photos())))
        page.until(lambda: page.count("#gallery li") == 3 and not page.text("#adding"))
        page.press("#tab-sort")
        page.until(lambda: page.count("#groups .tiles li") == 3)
        page.press("#groups .tiles button")
        page.press("#which-why summary")
        page.until(lambda: "Against" in page.text("#which-reasons"))
        assert page.count("#which-reasons .near li") == 2
        assert "Of the 2 photos here that look most like it" in page.text("#which-reasons")
        page.press("#which-close")
        page.press("#confused-part summary")
        first, groups = page.text("#confused strong"), browser.execute_script(GROUPS)
        page.type("#confused label:nth-of-type(2) input", "a red racing car\ue007")
        page.until(lambda: "mixed up before" in page.text("#sort-note"))
        assert set(first.split(" and ")) < set(page.text("#sort-note").replace(":", " and ").split(" and "))
        assert browser.execute_script(GROUPS) != groups
        assert ": a red racing car" in page.all("#words")[0].get_property("value")
        page.press("#undo")
        page.until(lambda: browser.execute_script(GROUPS) == groups)
        assert "racing" not in page.all("#words")[0].get_property("value")
        assert [entry["message"] for entry in browser.get_log("browser")] == []
