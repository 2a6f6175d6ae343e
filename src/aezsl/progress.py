"""How far long work is: a bar on a terminal, a log line per tenth elsewhere."""

import logging
import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

log = logging.getLogger(__name__)

#: Work that is done sooner than this leaves no line in a log.
QUIET_SECONDS = 10.0


def progress(items: Iterable[T], total: int, what: str, show: bool = True) -> Iterator[T]:
    """The items, as they come; ``total`` of them."""
    if not show:
        yield from items
    elif sys.stderr.isatty():
        yield from tqdm(items, desc=what, total=total, leave=False)
    else:
        start = monotonic()
        for done, item in enumerate(items, start=1):
            yield item
            seconds = monotonic() - start
            if done * 10 // total > (done - 1) * 10 // total and seconds > QUIET_SECONDS:
                log.info("%s: %d of %d, %.0f s", what, done, total, seconds)
