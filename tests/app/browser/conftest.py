"""The page of a small project in a real browser. Skipped where there is no Chromium."""

import sys
from dataclasses import replace

import pytest

from aezsl.app import handlers
from aezsl.serving.trained import TrainedModel
from tests.helpers.chromium import Page, chromium, require_chromium, served
from tests.helpers.colours import encode, make_place, picture

TRAINING = """
import sys, time
from aezsl.machine.screen import report
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
