"""Two browsers with two tabs each that make collections at once, in any order, and what must then be on the disk."""

import gc
import shutil
import sys
import time
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from PIL import Image

from aezsl.app import visitors
from aezsl.app.library import Library
from aezsl.app.server import make_app
from tests.helpers.colours import COLOURS, picture, visit

CLASSES = [[name, text, role] for name, (role, text, _) in COLOURS.items()]
#: Stands in for a training: it ends, well or not, when a file says so.
TRAINING = """
import pathlib, sys, time
while True:
    for how in ("ok", "fail"):
        if pathlib.Path(f"{sys.argv[1]}.{how}").exists():
            sys.exit(how == "fail")
    time.sleep(0.01)
"""
#: Every tab sends photos of a colour of its own, so that a mixture shows.
TABS = {(browser, tab): colour for (browser, tab), colour in zip(
    ((b, t) for b in range(2) for t in range(2)), ("ruby", "grass", "sea", "mint"), strict=True)}  # fmt: skip
MAX_LESSONS = 4

tabs = st.sampled_from(sorted(TABS))
names = st.integers(0, 4).map("set_{}".format)
numbers, shades = st.integers(-1, 3), st.integers(0, 4)


@dataclass
class Expected:
    """A collection as it should be."""

    name: str
    state: str = "collecting"
    photos: dict[str, set] = field(default_factory=dict)  # by class, their colours


class Tabs(RuleBasedStateMachine):
    """Every answer and, after every step, the whole disk must be what the model says."""

    place = None  # set by who runs it
    counts = Counter()

    def __init__(self):
        super().__init__()
        root = self.place.root
        self.raw, self.trained, self.training = root / "data/01_raw", {}, None
        shutil.rmtree(self.raw, ignore_errors=True)
        for file in [*root.glob("set_*.ok"), *root.glob("set_*.fail")]:
            file.unlink()
        self.limit, visitors.MAX_LESSONS = visitors.MAX_LESSONS, MAX_LESSONS
        self.open_page()

    def open_page(self):
        place = replace(self.place, training=(sys.executable, "-c", TRAINING, "{name}"))
        self.page = visit(make_app(Library(place))).__enter__()
        self.browsers = [self.page, visit(self.page.app)]
        self.lessons = [OrderedDict(), OrderedDict()]  # of every browser, by id, as they were last asked about
        self.shown = {}  # the id that a tab works with
        for number, tab in enumerate(TABS):
            self.shown[tab] = "none"
            self.begin(tab, f"set_{number}")

    def teardown(self):
        self.page.__exit__(None, None, None)
        visitors.MAX_LESSONS = self.limit
        assert self.on_disk() == (self.trained, [])

    def ask(self, browser, question, right, **about):
        answer = self.browsers[browser].post(f"/api/{question}", json=about)
        self.counts[question if right else f"{question} refused"] += 1
        assert answer.status_code == (200 if right else 400), answer.text
        return answer.json()

    def known(self, browser, lesson):
        """What a browser's lesson should be, asked about now; None where the browser has none of this id."""
        if lesson in self.lessons[browser]:
            self.lessons[browser].move_to_end(lesson)
        return self.lessons[browser].get(lesson)

    def collects(self, tab):
        expected = self.lessons[tab[0]].get(self.shown[tab])
        return expected is not None and expected.state == "collecting"

    def send(self, browser, lesson, number, content):
        return self.browsers[browser].post(f"/api/lesson?lesson={lesson}&class={number}", content=content).status_code

    def add(self, browser, lesson, number, colour, shade):
        red, green, blue = (min(255, part + shade) for part in COLOURS[colour][2])
        photos = self.lessons[browser][lesson].photos
        photos.setdefault(CLASSES[number][0], set()).add((red, green, blue))

    @rule(tab=tabs, name=names)
    def begin(self, tab, name):
        taken = name in self.trained or (self.training is not None and self.training.name == name)
        answer = self.ask(tab[0], "begin", not taken, name=name, classes=CLASSES)
        if not taken:
            own = self.lessons[tab[0]]
            own[answer["lesson"]] = Expected(name)
            self.shown[tab] = answer["lesson"]
            idle = [lesson for lesson, expected in own.items() if expected.state != "training"]
            for oldest in idle[: max(0, len(own) - MAX_LESSONS)]:
                del own[oldest]

    @rule(tab=tabs, number=numbers, shade=shades)
    def send_photo(self, tab, number, shade):
        lesson, colour = self.shown[tab], TABS[tab]
        right = self.collects(tab) and number >= 0
        self.known(tab[0], lesson)
        assert self.send(tab[0], lesson, number, picture(colour, shade)) == (200 if right else 400)
        self.counts["photo" if right else "photo refused"] += 1
        if right:
            self.add(tab[0], lesson, number, colour, shade)

    @rule(tab=tabs, other=tabs, number=numbers)
    def send_photo_to_the_lesson_of_another_browser(self, tab, other, number):
        if tab[0] != other[0]:
            assert self.send(tab[0], self.shown[other], number, picture(TABS[tab])) == 400

    @rule(first=tabs, second=tabs, count=st.integers(2, 6))
    def send_photos_together(self, first, second, count):
        both = [tab for tab in (first, second) if self.collects(tab)]
        calls = [(tab, n % 3, n) for n in range(count) for tab in both]
        with ThreadPoolExecutor(8) as threads:
            sent = threads.map(lambda c: self.send(c[0][0], self.shown[c[0]], c[1], picture(TABS[c[0]], c[2])), calls)
            assert set(sent) <= {200}
        self.counts["photo"] += len(calls)
        for tab, number, shade in calls:
            self.add(tab[0], self.shown[tab], number, TABS[tab], shade)
        for tab in both:  # whichever call was last: settle in which order they were asked about
            self.ask(tab[0], "progress", True, lesson=self.shown[tab])
            self.known(tab[0], self.shown[tab])

    @rule(tab=tabs)
    def train(self, tab):
        expected = self.known(tab[0], self.shown[tab])
        begins = expected is not None and expected.state == "collecting"
        free = self.training is None and (expected is None or expected.name not in self.trained)
        right = expected is not None and (expected.state in ("training", "done") or (begins and free))
        self.ask(tab[0], "train", right, lesson=self.shown[tab])
        if right and begins:
            expected.state, self.training = "training", expected

    @precondition(lambda self: self.training is not None)
    @rule(how=st.sampled_from(["ok", "ok", "fail"]))
    def end_training(self, how):
        browser, lesson = next(
            (browser, lesson)
            for browser in range(2)
            for lesson, expected in self.lessons[browser].items()
            if expected is self.training
        )
        said = self.place.root / f"{self.training.name}.{how}"
        said.touch()
        deadline = time.monotonic() + 60
        while (state := self.ask(browser, "progress", True, lesson=lesson)["state"]) == "training":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.known(browser, lesson)
        said.unlink()
        assert state == {"ok": "done", "fail": "failed"}[how]
        self.counts[f"training {state}"] += 1
        self.training.state, ended, self.training = state, self.training, None
        if how == "ok":
            self.trained[ended.name] = ended.photos

    @rule(browser=st.integers(0, 1))
    def load_again(self, browser):
        under_way = [lesson for lesson, expected in self.lessons[browser].items() if expected.state == "training"]
        assert self.ask(browser, "models", True)["training"] == (under_way[0] if under_way else None)

    @rule(sure=st.integers(0, 9))
    def close_the_page_and_open_it_again(self, sure):
        if sure == 7:  # not the first that is tried
            self.counts["page closed"] += 1
            self.page.__exit__(None, None, None)
            self.training = None
            self.open_page()

    def on_disk(self):
        """Collections that can be seen, with their photos; those that cannot, in any order."""
        seen, hidden = {}, []
        for folder in self.raw.iterdir() if self.raw.exists() else ():
            if not folder.name.startswith("."):
                seen[folder.name] = photos_of(folder)
            else:
                hidden += [(below.name, photos_of(below)) for below in folder.iterdir() if below.is_dir()]
        return seen, in_order(hidden)

    @invariant()
    def nothing_is_mixed_or_lost(self):
        self.counts["steps"] += 1
        seen, hidden = self.on_disk()
        kept = [one for own in self.lessons for one in own.values() if one.state in ("collecting", "failed")]
        if len(hidden) > len(kept):  # those that nobody has any more go with the objects
            gc.collect()
            hidden = self.on_disk()[1]
        training = {self.training.name: self.training.photos} if self.training else {}
        assert seen == {**self.trained, **training}
        assert hidden == in_order((one.name, one.photos) for one in kept)


def in_order(collections):
    return sorted(
        collections, key=lambda one: (one[0], sorted((own, sorted(photos)) for own, photos in one[1].items()))
    )


def photos_of(collection):
    """By class the colours of photos; each is there once."""
    found = {}
    for file in collection.glob("images/*/*"):
        stat = file.stat()
        own, colour = found.setdefault(file.parent.name, set()), colour_of(file, stat.st_mtime_ns, stat.st_ino)
        assert colour not in own, file
        own.add(colour)
    return found


@lru_cache(maxsize=10_000)
def colour_of(file, *_):
    with Image.open(file) as image:
        return image.getpixel((0, 0))
