"""Collections are taught in a real browser."""

import pytest

from aezsl.formats.images import read_image
from tests.helpers.chromium import TRANSFER
from tests.helpers.colours import COLOURS

pytestmark = pytest.mark.slow


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
