"""How long the page of a trained model takes from a key to new scores, in headless Chromium, for a photo already seen.

python -m tests.benchmarks.bench_page [n_classes] [n_edits] [method] [env]

After kedro run --pipeline=<method>, in the project's folder. A description is edited as somebody types, by a key at its
end, and the clock of the browser runs from that key until the bars on the page have changed and were painted. What the
page waits for further keys is part of it. The same again while both cores are busy, and for a class that is renamed.
"""

import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
from PIL import Image

from aezsl.formats.emoji import Emoji

MOST_SECONDS = 180

#: Classes of the visitor's own are added until there are enough.
ADD = """
const [number] = arguments;
const kinds = ["red", "small blue", "round green", "long yellow", "flat grey", "tall white", "dark striped"];
const things = ["animal", "fruit", "vehicle", "building", "tool", "plant", "face", "toy", "drink", "sign"];
while (document.querySelectorAll("#classes tr").length < number) {
  const n = document.querySelectorAll("#classes tr").length;
  document.getElementById("add").click();
  const row = document.querySelector("#classes tr");
  row.querySelector("input").value = `own class ${n}`;
  row.querySelector("textarea").value = `a ${kinds[n % 7]} ${things[n % 10]} number ${n}`;
  row.querySelector("textarea").dispatchEvent(new Event("input", { bubbles: true }));
}
return document.querySelectorAll("#classes tr").length;
"""

#: One key in a field: milliseconds until the bars are there anew and painted, and those of the question to the server.
EDIT = """
const [place, selector, text, done] = arguments;
const field = document.querySelectorAll("#classes tr")[place].querySelector(selector);
const bars = document.getElementById("bars");
performance.clearResourceTimings();
const watch = new MutationObserver(() => {
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => {
    const asked = performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/api/scores"));
    done([performance.now() - start, asked.length ? asked.at(-1).duration : 0]);
  }));
});
watch.observe(bars, { childList: true });
field.focus();
const start = performance.now();
field.value = text;
field.dispatchEvent(new Event("input", { bubbles: true }));
"""


@contextmanager
def opened_page(method, env):
    """The page as ``kedro app`` serves it, and the process that does."""
    command = [sys.executable, "-m", "kedro", "app", f"--env={env}", f"--params=method={method}", "--port=7871"]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            yield "http://127.0.0.1:7871/", psutil.Process(process.pid)
        finally:
            process.terminate()


@contextmanager
def opened_browser(address):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(60)
    try:
        stop = time.monotonic() + MOST_SECONDS
        while time.monotonic() < stop:
            try:
                browser.get(address)
                break
            except Exception:  # nobody listens yet
                time.sleep(0.5)
        yield browser
    finally:
        browser.quit()


def until(true):
    stop = time.monotonic() + MOST_SECONDS
    while not true():
        if time.monotonic() > stop:
            raise RuntimeError("the page does not show what it should")
        time.sleep(0.1)


def spin():
    while True:
        pass


@contextmanager
def busy_cores():
    """Other work on all cores."""
    others = [
        multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)
    ]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()


def measure(browser, process, n_edits, n_classes, selector="textarea"):
    """Milliseconds of every edit, of its question to the server, and of the server's processor time."""
    whole, server = [], []
    before = process.cpu_times()
    for number in range(n_edits):
        place = (7 * number) % n_classes
        old = browser.execute_script(
            "return document.querySelectorAll('#classes tr')[arguments[0]].querySelector(arguments[1]).value",
            place,
            selector,
        )
        took, asked = browser.execute_async_script(EDIT, place, selector, f"{old} {number}")
        whole.append(took)
        server.append(asked)
    after = process.cpu_times()
    cost = 1000 * (after.user + after.system - before.user - before.system) / n_edits
    return whole, server, cost


def tell(what, whole, server, cost):
    print(
        f"{what}: median {statistics.median(whole):.0f} ms, longest of {len(whole)} {max(whole):.0f} ms; "
        f"of that the server {statistics.median(server):.0f} ms (longest {max(server):.0f}), "
        f"{cost:.0f} ms of its processor time",
        flush=True,
    )


def main(n_classes=50, n_edits=30, method="aezsl_lr", env="base"):
    with opened_page(method, env) as (address, process), opened_browser(address) as browser:
        until(lambda: browser.execute_script("return document.querySelectorAll('#classes tr').length") > 0)
        there = browser.execute_script(ADD, n_classes)
        with tempfile.TemporaryDirectory() as folder:
            photo = Path(folder) / "photo.png"
            Image.open(Emoji().read().images["path"].iloc[0]).convert("RGB").save(photo)
            browser.find_element("css selector", "#files").send_keys(str(photo))
            shown = r"^[^,]+, [<>]?[\d.]+%"
            until(lambda: re.search(shown, browser.find_element("css selector", "#answer-title").text))
        time.sleep(2)
        print(f"{method}, {there} classes, one photo already seen; from a key to painted bars", flush=True)
        tell("a description changes", *measure(browser, process, n_edits, there))
        tell("a name changes", *measure(browser, process, n_edits // 3, there, "input"))
        with busy_cores():
            tell("a description changes, all cores busy", *measure(browser, process, n_edits, there))


if __name__ == "__main__":
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
