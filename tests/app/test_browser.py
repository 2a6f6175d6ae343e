"""The page in a real browser: upload, edit, refine, ask why, teach. Skipped where there is no Chromium."""

import shutil
import sys
import time
import urllib.request
from dataclasses import replace

import pytest
from PIL import Image

from aezsl.app import handlers, visitors
from aezsl.formats.images import read_image
from aezsl.serving.trained import TrainedModel
from tests.helpers.chromium import Page, chromium, require_chromium, served
from tests.helpers.colours import COLOURS, encode, make_place, picture

pytestmark = pytest.mark.slow

#: Stands in for the training; that of slow_colours takes long enough to open the page again meanwhile.
TRAINING = """
import sys, time
from aezsl.machine.progress import report
report(done=1, total=2, expected=["expect about 71% right names"])
time.sleep(5 if "slow" in sys.argv[1] else 0)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    require_chromium()
    stand_in = (sys.executable, "-c", TRAINING, "{name}")
    return replace(make_place(tmp_path_factory.mktemp("colours"), ("eszsl_t", "eszsl")), training=stand_in)


@pytest.fixture(scope="module")
def address(place):
    """The page of a small project, served by a thread of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainedModel, "encode", lambda self: encode)
        found = {
            "link": "http://127.0.0.1:5000/#/experiments/1/runs/7",
            "metrics": {"Per class": 0.23437, "Hit@5": 1.0},
        }
        patch.setattr(handlers, "measured", lambda *of: found)
        with served(place) as address:
            yield address


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as driver:
        yield driver


@pytest.fixture
def page(browser, address):
    """The page as somebody finds it who opens it; it must not have complained when the test is over."""
    browser.get(address)
    page = Page(browser)
    page.until(lambda: page.count("#classes tr") == 3)
    yield page
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert complaints == []


@pytest.fixture
def photos(tmp_path):
    """Files of photos by class."""

    def make(*names):
        paths = []
        for number, name in enumerate(names):
            paths.append(tmp_path / f"{number}-{name}.png")
            if not paths[-1].exists():  # a browser sends no file that has been written again
                paths[-1].write_bytes(picture(name, 5 * number))
        return "\n".join(map(str, paths))

    return make


def test_a_photo_is_named_and_an_edited_class_changes_its_name(page, photos):
    page.all("#files")[0].send_keys(photos("plum"))
    page.until(lambda: page.text("#answer-title").startswith("plum, "))
    assert page.count("#bars li") == 3
    share = page.text("#bars li:first-child .number")
    page.type("#classes tr:nth-child(1) textarea", "green pale")
    page.until(lambda: not page.text("#answer-title").startswith("plum, "))
    page.press("#add")
    page.type("#classes tr:nth-child(1) input", "fig")
    page.type("#classes tr:nth-child(1) textarea", "red blue dark")
    page.until(lambda: page.text("#answer-title").startswith("fig, "))
    page.press("#classes tr:nth-child(1) button")
    page.until(lambda: page.count("#classes tr") == 3 and not page.text("#answer-title").startswith("fig, "))
    page.press("#restore")
    page.until(lambda: page.text("#answer-title").startswith("plum, "))
    assert page.text("#bars li:first-child .number") == share


#: Answers take longer than the pauses of somebody who types; how many questions were under way together.
SLOW_ANSWERS = """
const ask = window.fetch;
let underway = 0;
window.together = window.asked = 0;
window.fetch = async (...given) => {
  window.asked += 1;
  window.together = Math.max(window.together, ++underway);
  await new Promise((resolve) => setTimeout(resolve, 900));
  const answer = await ask(...given);
  underway -= 1;
  return answer;
};
"""


def test_what_is_typed_during_an_answer_is_asked_once_and_answered_last(page, photos):
    page.all("#files")[0].send_keys(photos("plum"))
    page.until(lambda: page.text("#answer-title").startswith("plum, "))
    page.browser.execute_script(SLOW_ANSWERS)
    for text in ("green", "green pale", "red", "blue pale", "green dark pale"):
        page.type("#classes tr:nth-child(1) textarea", text)
        time.sleep(0.3)  # longer than the page waits after a key
    page.until(lambda: not page.text("#answer-title").startswith("plum, "))
    together, asked = page.browser.execute_script("return [window.together, window.asked]")
    assert together == 1
    assert asked < 5


def test_why_shows_known_classes_with_pictures(page, photos):
    page.all("#files")[0].send_keys(photos("plum"))
    page.until(lambda: page.text("#why").startswith("Why plum and not "))
    page.press("#why")
    page.until(lambda: page.count(".near") == 2)
    assert page.count(".near:first-of-type img") == 5
    assert all(image.get_attribute("alt").startswith("A picture of ") for image in page.all(".near img"))


def test_several_photos_make_a_gallery_and_are_refined(page, photos):
    page.all("#examples button")[0].click()
    page.until(lambda: page.count("#gallery li") == 1)
    assert page.all("#refine")[0].get_attribute("disabled")
    assert "one photo" in page.text("#refine-why")
    page.all("#files")[0].send_keys(photos("plum", "plum", "teal", "lemon"))
    page.until(lambda: page.count("#gallery li") >= 4 and not page.all("#refine")[0].get_attribute("disabled"))
    assert page.text("#refine-why") == ""
    page.all("#refine")[0].click()
    page.until(lambda: page.text("#refine-note").startswith("Learning from the photos has changed"))
    page.browser.execute_script(
        "const select = document.querySelector('#model'); select.value = 'colours/eszsl';"
        "select.dispatchEvent(new Event('change'));"
    )
    page.until(lambda: page.all("#refine")[0].get_attribute("disabled"))
    assert "ESZSL_T" in page.text("#refine-why")  # the model that can
    page.press("#clear")
    page.until(lambda: page.count("#gallery li") == 0)


#: A transfer as the browser makes it of files that are dropped or pasted: red ones, each of its own shade.
TRANSFER = """
const [selector, kind, number, done] = arguments;
(async () => {
  const transfer = new DataTransfer();
  for (let i = 0; i < number; i += 1) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
    const brush = canvas.getContext("2d");
    brush.fillStyle = `rgb(${200 + i}, 0, ${200 + i})`;
    brush.fillRect(0, 0, 8, 8);
    const content = await new Promise((resolve) => canvas.toBlob(resolve));
    transfer.items.add(new File([content], `${kind}-${i}.png`, { type: "image/png" }));
  }
  const about = { bubbles: true, cancelable: true };
  const event = kind === "paste"
    ? new ClipboardEvent(kind, { ...about, clipboardData: transfer })
    : new DragEvent(kind, { ...about, dataTransfer: transfer });
  document.querySelector(selector).dispatchEvent(event);
  done();
})();
"""


def test_photos_are_dropped_and_pasted(page):
    page.browser.execute_async_script(TRANSFER, "#drop", "drop", 2)
    page.until(lambda: page.count("#gallery li") == 2)
    page.press("#clear")
    page.until(lambda: page.count("#gallery li") == 0)
    page.browser.execute_async_script(TRANSFER, "body", "paste", 1)
    page.until(lambda: page.text("#answer-title").startswith("plum, "))


def test_a_folder_is_dropped(page, photos, tmp_path):
    photos("plum", "plum")
    (tmp_path / "below").mkdir()
    (tmp_path / "0-plum.png").rename(tmp_path / "below/0-plum.png")
    (tmp_path / "below/notes.txt").write_text("no photo")
    box = page.all("#drop")[0].rect
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": [str(tmp_path)], "dragOperationsMask": 1}
        about = {"type": kind, "x": box["x"] + 5, "y": box["y"] + 5, "data": data}
        page.browser.execute_cdp_cmd("Input.dispatchDragEvent", about)
    page.until(lambda: page.count("#gallery li") == 2)
    assert not page.all("#message")[0].is_displayed()


def test_photos_beyond_the_limit_are_left_out_and_counted(page, photos):
    limit = "const done = arguments[0]; import('/common.js').then(({ state }) => { state.limits.photos = 2; done(); })"
    page.browser.execute_async_script(limit)
    page.all("#files")[0].send_keys(photos("plum", "teal", "lemon"))
    page.until(lambda: "1 of 3 were left out" in page.text("#message-text"))
    assert page.count("#gallery li") == 2
    page.press("#message-close")
    assert not page.all("#message")[0].is_displayed()


def test_a_photo_that_the_browser_cannot_show_is_shown_and_a_folder_is_taken(page, tmp_path):
    Image.new("RGB", (30, 20), COLOURS["plum"][2]).save(tmp_path / "scan.tif")
    (tmp_path / "notes.txt").write_text("no photo")
    page.all("#folder")[0].send_keys(str(tmp_path))
    widths = "return [...document.querySelectorAll('#gallery img, #shown img')].map((image) => image.naturalWidth)"
    page.until(lambda: page.browser.execute_script(widths) == [30, 30])
    assert page.text("#answer-title").startswith("plum, ")
    assert not page.all("#message")[0].is_displayed()


def test_a_file_that_is_no_photo_is_refused_in_a_sentence(page, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    page.all("#files")[0].send_keys(str(tmp_path / "broken.png"))
    page.until(lambda: "broken.png" in page.text("#message"))
    assert "cannot be read as an image" in page.text("#message")
    # The browser itself notes every answer that refuses something.
    (complaint,) = page.browser.get_log("browser")
    assert "/api/photo" in complaint["message"]


def test_photos_that_the_server_no_longer_has_are_sent_again(page, photos):
    page.all("#files")[0].send_keys(photos("plum"))
    page.until(lambda: page.count("#gallery li") == 1)
    page.browser.execute_async_script("import('/common.js').then(({ ask }) => ask('forget')).then(arguments[0])")
    page.all("#tab-compare")[0].click()
    page.press("#go")
    page.until(lambda: page.text("#compare-note").startswith("They agree on"))


def test_a_visitor_whom_the_server_has_forgotten_goes_on(page, photos, address, monkeypatch):
    page.all("#files")[0].send_keys(photos("plum"))
    page.until(lambda: page.text("#answer-title").startswith("plum, "))
    monkeypatch.setattr(visitors, "MAX_VISITORS", 1)
    urllib.request.urlopen(urllib.request.Request(f"{address}api/models", b"{}")).close()  # somebody else comes
    page.type("#classes tr:nth-child(1) textarea", "green pale")
    page.until(lambda: not page.text("#answer-title").startswith("plum, "))
    # The browser itself notes every answer that refuses something.
    (complaint,) = page.browser.get_log("browser")
    assert "403" in complaint["message"]


def test_two_models_name_the_same_photos(page, photos):
    page.all("#files")[0].send_keys(photos("plum", "teal"))
    page.until(lambda: page.count("#gallery li") == 2)
    page.all("#tab-compare")[0].click()
    page.browser.execute_script(
        "window.said = []; const note = document.querySelector('#compare-note');"
        "new MutationObserver(() => said.push(note.textContent)).observe(note, { childList: true });"
    )
    page.press("#go")
    page.until(lambda: page.text("#compare-note").startswith("They agree on"))
    assert page.browser.execute_script("return said[0]") == "Both models look at the photos …"
    assert page.count("#side tbody tr") == 2
    page.until(lambda: page.count("#measured a") == 2)
    assert "Accuracy, mean over classes23.4%23.4%Right name among the best 5100.0%" in page.text("#measured")


def test_a_photo_that_is_there_already_is_shown_once_and_that_is_said(page, photos, tmp_path):
    photos("plum", "teal")
    shutil.copy(tmp_path / "0-plum.png", tmp_path / "copy.png")
    page.all("#files")[0].send_keys(
        "\n".join(str(tmp_path / name) for name in ("0-plum.png", "1-teal.png", "copy.png"))
    )
    page.until(lambda: "1 of 3 photos were here already" in page.text("#message-text"))
    assert page.count("#gallery li") == 2


def test_an_answer_that_is_too_improbable_is_no_name_anywhere(page):
    script = "const [answer, done] = arguments; import('/common.js').then(({ named }) => done(named(answer)))"
    answer = {"names": ["plum", "teal"], "probabilities": [0.5, 0.5], "none_of_these": True}
    assert page.browser.execute_async_script(script, answer) == "none of these (best: plum 50%)"
    assert page.browser.execute_async_script(script, answer | {"none_of_these": False}) == "plum 50%"


def fill_in(page, photos, name_of_all, names=("ruby", "grass", "sea", "rose", "plum")):
    """A collection, up to the button that trains: dropped photos of the first class, none of the last."""
    page.all("#tab-teach")[0].click()
    page.type("#set", name_of_all)
    for number, name in enumerate(names, start=1):
        page.type(f"#lessons tr:nth-child({number}) input", name)
        page.type(f"#lessons tr:nth-child({number}) textarea", f"the colour of {name}")
        if number == 1:
            page.browser.execute_async_script(TRANSFER, "#lessons tr", "drop", 2)
            page.until(lambda: page.browser.execute_script(CHOSEN) == 2)
        elif name != names[-1]:
            page.all(f"#lessons tr:nth-child({number}) input[type=file]")[0].send_keys(photos(name))


CHOSEN = "return document.querySelector('#lessons [type=file]').files.length"


def test_a_collection_is_taught(page, photos):
    fill_in(page, photos, "my_colours")
    page.press("#train")
    page.until(lambda: page.text("#teach-note").startswith("my colours is trained"))
    assert page.text("#teach-note").endswith(" Expect about 71% right names.")


#: Two questions are asked at once, the others when somebody says so.
WAIT_AFTER_TWO = """
const ask = window.fetch;
const wait = new Promise((resolve) => { window.goOn = resolve; });
let asked = 0;
window.fetch = async (...given) => {
  if (++asked > 2) await wait;
  return ask(...given);
};
"""


def test_two_tabs_teach_collections_of_their_own(page, photos, place, address):
    browser = page.browser
    fill_in(page, photos, "first_tab")
    browser.execute_script(WAIT_AFTER_TWO)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    try:
        browser.get(address)
        page.until(lambda: page.count("#classes tr") == 3)
        fill_in(page, photos, "second_tab", ("plum", "rose", "sea", "grass", "ruby"))
        browser.switch_to.window(first)
        page.press("#train")
        page.until(lambda: page.text("#teach-note").startswith("Copying photo 2 "))
        browser.switch_to.window(second)
        page.press("#train")
        page.until(lambda: " is trained " in page.text("#teach-note"))
        browser.switch_to.window(first)
        browser.execute_script("window.goOn()")
        page.until(lambda: " is trained " in page.text("#teach-note"))
    finally:
        browser.switch_to.window(second)
        browser.close()
        browser.switch_to.window(first)
    for name, ends in (("first_tab", "ruby"), ("second_tab", "plum")):
        folder = place.root / "data/01_raw" / name / "images"
        found = {path.name: [read_image(file).getpixel((0, 0)) for file in path.iterdir()] for path in folder.iterdir()}
        assert sorted(found) == sorted({"grass", "sea", "rose", ends}), name
        assert sorted(found.pop(ends)) == [(200, 0, 200), (201, 0, 201)]
        assert found == {own: [COLOURS[own][2]] for own in found}, name


def test_a_training_is_followed_by_a_page_that_is_opened_again(page, photos):
    fill_in(page, photos, "slow_colours")
    page.press("#train")
    page.until(lambda: page.text("#teach-note") == "Training … 50% of the steps are done.")
    page.browser.refresh()
    page.until(lambda: page.text("#teach-note").startswith("Training … "))
    page.until(lambda: page.text("#teach-note").startswith("slow colours is trained"))


def test_nothing_is_wider_than_a_phone_and_every_control_has_a_name(page, photos):
    page.all("#files")[0].send_keys(photos("plum", "teal"))
    page.until(lambda: page.count("#gallery li") == 2)
    for tab in ("name", "compare", "teach"):
        page.all(f"#tab-{tab}")[0].click()
        wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
        needed, there = page.browser.execute_script(wide)
        assert needed <= there, tab
    unnamed = [
        control.get_attribute("outerHTML")
        for control in page.all("button, input, select, textarea")
        if not control.accessible_name and control.get_attribute("hidden") is None and control.is_displayed()
    ]
    assert unnamed == []


def test_a_field_says_which_class_it_belongs_to(page):
    def names(selector):
        return [control.accessible_name for control in page.all(selector)]

    assert names("#classes textarea") == ["Description of plum", "Description of lemon", "Description of teal"]
    page.all("#tab-teach")[0].click()
    page.type("#lessons input", "fig")
    assert names("#lessons tr:first-child *:is(textarea, [type=file], button)") == [
        "Description of fig",
        "Photos of fig, none if you have none",
        "Delete fig",
    ]
