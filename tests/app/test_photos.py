"""The photo model on the page: photos that installed packages carry, named by any words without a run before."""

import time
import zipfile
from pathlib import Path
from threading import Event

import pytest

from aezsl.app.library import WORDS, Library, Place, installed_photos
from aezsl.app.server import make_app
from tests.helpers.chromium import Page, chromium, require_chromium, served
from tests.helpers.colours import make_place, visit
from tests.helpers.photos import ANY, SHOWN, ask

pytestmark = pytest.mark.slow  # the network is loaded


def test_the_photo_model_is_there_without_a_run(page):
    assert [one["id"] for one in ask(page, "models")["models"]] == ["photos"]
    about = ask(page, "model")
    assert about["classes"] == ANY
    assert about["by_words"]
    assert len(about["known"]) == 1000
    assert len(about["examples"]) == 3
    for author in ("danielbuechele", "vultilion", "CC BY 2.0", "public domain"):
        assert author in about["credits"]


def test_the_list_of_models_does_not_wait_for_one(place, monkeypatch):
    monkeypatch.setattr(Library, "open", lambda *_: pytest.fail("a model was opened"))
    with visit(make_app(Library(place))) as client:
        assert ask(client, "models")["models"][0]["id"] == "photos"


@pytest.mark.parametrize("refine", [False, True])
def test_photos_are_named_by_any_words(page, photos, refine):
    answer = ask(page, "scores", photos=photos, classes=ANY, refine=refine)
    assert [one["names"][0] for one in answer["answers"]] == SHOWN
    assert all(sum(one["probabilities"]) == pytest.approx(1) for one in answer["answers"])
    assert ("changed" in answer) == refine
    assert answer["doubts"] == []


def test_photos_together_are_named_by_the_other_version(page, photos, monkeypatch):
    together = Library(Place(Path(), Path("a"), Path("b"))).open("photos")._together
    assert together.model.transductive
    asked = []
    adapt = type(together.model).adapt
    monkeypatch.setattr(
        type(together.model), "adapt", lambda *given, **more: (asked.append(len(given)), adapt(*given, **more))[1]
    )
    ask(page, "scores", photos=photos, classes=ANY[4:], refine=True)
    assert asked == [3]  # itself, the words, the photos


def test_a_description_counts_where_there_is_one(page, photos):
    classes = [["x", "a temple, a tall building with many roofs"], ["y", "a flower with orange petals"]]
    answers = ask(page, "scores", photos=photos[:2], classes=classes)["answers"]
    assert [one["names"][0] for one in answers] == ["x", "y"]


def test_doubts_name_words_that_are_alike_or_far(page, photos):
    doubts = ask(page, "scores", photos=photos, classes=[*ANY, ["a puppy", ""], ["sunny weather", ""]])["doubts"]
    assert any("puppy" in doubt and "dog" in doubt for doubt in doubts)
    assert any("sunny weather" in doubt for doubt in doubts)


def test_why_names_the_known_classes_behind_the_words(page, photos):
    why = ask(page, "why", photos=photos[:1], classes=ANY, first="a temple", second="a dog")
    covers = {label: {known["name"]: known["likeness"] for known in why["covers"][label]} for label in why["covers"]}
    assert [len(known) for known in covers.values()] == [3, 3]
    assert not any("," in name or ":" in name for known in covers.values() for name in known)
    looks = [known["likeness"] for known in why["looks"]]
    assert looks == sorted(looks, reverse=True)
    assert max(covers["a temple"].values()) > 10 * max(covers["a dog"].values())


def test_it_is_compared_with_a_trained_model_that_reads_words(tmp_path):
    page = visit(make_app(Library(make_place(tmp_path))))
    (about,) = (one for one in ask(page, "models")["models"] if one["id"] == "photos")
    assert about["label"] == "Any photo, any words"
    photo = ask(page, "example", number=0)["photo"]
    classes = [["plum", "red blue dark"], ["temple", "a temple"]]
    (answer,) = ask(page, "scores", photos=[photo], classes=classes)["answers"]
    assert answer["names"][0] == "temple"
    assert ask(page, "runs") == {"measured": {}, "command": ""}


def test_a_visitor_types_words_and_gets_folders_by_name(place, tmp_path, monkeypatch):
    require_chromium()
    loaded, load = Event(), Library.open
    monkeypatch.setattr(Library, "open", lambda *given: loaded.wait(60) and load(*given))
    with served(place) as address, chromium(tmp_path) as browser:
        browser.get(address)
        page = Page(browser)
        page.until(lambda: page.count("#model option") == 1)
        assert page.text("#model option") == "Any photo, any words"
        assert page.text("#intro") == "The model is being loaded …"
        page.all("#files")[0].send_keys(str(installed_photos()[1]))  # nobody has to wait
        page.until(lambda: page.text("#adding").startswith("Looking at photo 1 of 1"))
        loaded.set()
        page.until(lambda: page.text("#answer-title").startswith("a flower, "))
        assert page.count("#examples button") == 3
        assert page.all("#words")[0].get_attribute("value") == ", ".join(WORDS)
        page.type("#words", "a dragon\na lighthouse, rose: a flower with many petals, orange")
        page.until(lambda: page.text("#answer-title").startswith("rose, "))
        page.type("#words", "a dahlia\na puppy, a dog")
        page.until(lambda: page.text("#answer-title").startswith("a dahlia, "))
        page.until(lambda: "puppy" in page.text("#doubts"))
        page.press("#why")
        page.until(lambda: "For a dahlia: " in page.text("#reasons") and "Against " in page.text("#reasons"))
        page.press("#words-restore")
        page.until(lambda: page.text("#answer-title").startswith("a flower, "))
        page.press("#examples button")
        page.until(lambda: page.count("#gallery li") == 2)
        page.all("#refine")[0].click()
        page.until(lambda: page.text("#refine-note").startswith("Learning from the photos has changed"))
        width, there = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= there
        page.press("#zip")
        file = tmp_path / "photos by name.zip"
        page.until(file.is_file)
        time.sleep(0.2)
        assert [entry["message"] for entry in browser.get_log("browser")] == []
    with zipfile.ZipFile(file) as found:
        assert found.testzip() is None
        assert found.namelist() == ["a flower/flower.jpg", "a temple/example 1.webp"]
        assert found.read("a flower/flower.jpg") == installed_photos()[1].read_bytes()
        assert found.infolist()[0].date_time > (1980, 1, 2, 0, 0, 0)
