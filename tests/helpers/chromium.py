"""A page served by a thread of this process, and a browser of a phone's width that opens it."""

import shutil
import socket
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from aezsl.app.library import Library
from aezsl.app.server import make_app
from aezsl.serving.server import HOST

BROWSER, DRIVER = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")

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


def require_chromium():
    """Skip where there is none."""
    if not BROWSER or not DRIVER:
        pytest.skip("there is no chromium with chromedriver here (apt-get install chromium chromium-driver)")


@contextmanager
def served(place):
    """The address of the page of a place."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make_app(Library(place)), host=HOST, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    yield f"http://{HOST}:{port}/"
    server.should_exit = True
    thread.join(30)


@contextmanager
def chromium(downloads=None):
    """A browser; downloads : the folder that it saves files in."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=400,900"):
        options.add_argument(argument)
    if downloads:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Page:
    """What a visitor sees and does."""

    def __init__(self, browser):
        self.browser = browser

    def until(self, true):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60, 0.05).until(lambda _: true())

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def count(self, selector):
        return len(self.all(selector))

    def text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, selector):
        """As a keyboard does: a button that cannot be reached or is hidden is not pressed."""
        from selenium.webdriver.common.keys import Keys

        self.all(selector)[0].send_keys(Keys.ENTER)

    def type(self, selector, text):
        field = self.all(selector)[0]
        field.clear()
        field.send_keys(text)
