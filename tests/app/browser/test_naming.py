"""Photos are named in a real browser: edit, refine, ask why, compare."""

import time
import urllib.request

import pytest

from aezsl.app import visitors

pytestmark = pytest.mark.slow


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


def test_an_answer_that_is_too_improbable_is_no_name_anywhere(page):
    script = "const [answer, done] = arguments; import('/common.js').then(({ named }) => done(named(answer)))"
    answer = {"names": ["plum", "teal"], "probabilities": [0.5, 0.5], "none_of_these": True}
    assert page.browser.execute_async_script(script, answer) == "none of these (best: plum 50%)"
    assert page.browser.execute_async_script(script, answer | {"none_of_these": False}) == "plum 50%"


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
