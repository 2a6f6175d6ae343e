"""Photos come onto the page in a real browser: chosen, dropped, pasted, refused."""

import shutil

import pytest
from PIL import Image

from tests.helpers.chromium import TRANSFER
from tests.helpers.colours import COLOURS

pytestmark = pytest.mark.slow


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


def test_a_photo_that_is_there_already_is_shown_once_and_that_is_said(page, photos, tmp_path):
    photos("plum", "teal")
    shutil.copy(tmp_path / "0-plum.png", tmp_path / "copy.png")
    page.all("#files")[0].send_keys(
        "\n".join(str(tmp_path / name) for name in ("0-plum.png", "1-teal.png", "copy.png"))
    )
    page.until(lambda: "1 of 3 photos were here already" in page.text("#message-text"))
    assert page.count("#gallery li") == 2
