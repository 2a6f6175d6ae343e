"""Who is on the page. What one visitor sends, no other one can reach."""

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from aezsl.app.lessons import Lesson
from aezsl.app.opened import OpenModel
from aezsl.arrays import Array
from aezsl.errors import DataError

#: What is kept at most: visitors, those longest away go first; photos and collections of each, the oldest go first.
MAX_VISITORS, MAX_PHOTOS, MAX_LESSONS = 100, 1_000, 8


class UnknownVisitorError(DataError):
    """The key of a visitor is missing or forgotten: the page asks for another one."""


class UnknownPhotoError(DataError):
    """Features of a photo are not here (any more): the page sends it again."""


@dataclass
class Visitor:
    """What the server remembers of a browser: features of its photos, never the photos, and its collections."""

    photos: OrderedDict[str, dict[str, Array]] = field(default_factory=OrderedDict)
    lessons: OrderedDict[str, Lesson] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def add(self, content: bytes, model: OpenModel) -> str:
        """Look at a photo, once per network; its name here is a digest of its content."""
        photo = hashlib.sha256(content).hexdigest()
        with self.lock:
            known = model.sees_by in self.photos.get(photo, {})
        if not known:
            features = model.encode(content)
            with self.lock:
                self.photos.setdefault(photo, {})[model.sees_by] = features
                self.photos.move_to_end(photo)
                while len(self.photos) > MAX_PHOTOS:  # the page that shows it still will send it again
                    self.photos.popitem(last=False)
        return photo

    def features(self, photos: list[str], model: OpenModel) -> Array:
        """Features (n, d) of photos that this visitor has sent."""
        if not photos or len(photos) > MAX_PHOTOS:
            raise DataError(f"expected 1 to {MAX_PHOTOS} photos, got {len(photos)}")
        with self.lock:
            known = [self.photos.get(photo, {}).get(model.sees_by) for photo in photos]
        if any(row is None for row in known):
            raise UnknownPhotoError("a photo is not in memory any more: send it again")
        return np.vstack([row for row in known if row is not None])

    def begin(self, lesson: Lesson) -> str:
        """Keep a collection under a name that no other one has, whichever tab of the browser it is made in."""
        name = secrets.token_urlsafe(12)
        with self.lock:
            self.lessons[name] = lesson
            idle = [name for name, one in self.lessons.items() if one.state != "training"]
            for oldest in idle[: max(0, len(self.lessons) - MAX_LESSONS)]:
                del self.lessons[oldest]
        return name

    def lesson(self, name: Any) -> Lesson:
        """The collection of that name."""
        with self.lock:
            if not isinstance(name, str) or name not in self.lessons:
                raise DataError("this collection is not here (any more): press Train again")
            self.lessons.move_to_end(name)
            return self.lessons[name]

    def under_way(self) -> str | None:
        """The name of the collection that is being trained, if any is."""
        with self.lock:
            return next((name for name, one in self.lessons.items() if one.state == "training"), None)

    def forget(self) -> None:
        """All photos."""
        with self.lock:
            self.photos.clear()


class Visitors:
    """Visitors by a key that nobody can guess.

    The page keeps it and sends it in a header. Unlike a cookie, a browser never adds it to what another site asks.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, Visitor] = OrderedDict()
        self._lock = Lock()

    def find(self, key: str) -> Visitor:
        """The visitor with a key."""
        with self._lock:
            if key not in self._known:
                raise UnknownVisitorError("this page was opened long ago: load it again")
            self._known.move_to_end(key)
            return self._known[key]

    def greet(self, key: str) -> tuple[str, Visitor]:
        """The visitor with a key; whoever has none, or one that is forgotten, is new."""
        with self._lock:
            if key not in self._known:
                key = secrets.token_urlsafe(24)
                self._known[key] = Visitor()
            self._known.move_to_end(key)
            while len(self._known) > MAX_VISITORS:
                self._known.popitem(last=False)
            return key, self._known[key]
