"""What became of bad inputs: counted by kind, with the seed of every one that was not taken well."""

import json
import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

from aezsl.hooks.crash import own_error

#: tried: all; refused: with a sentence; accepted: with the answer that a clean equivalent gets, or with any finite
#: answer where none is known; raw: with the error of some library, or with none in a minute; wrong: accepted, with
#: another answer.
COLUMNS = ("tried", "refused", "accepted", "raw", "wrong")
#: Seconds after which an input counts as one that blocks.
PATIENCE = 60


@dataclass
class Tally:
    """Counts of one kind of input."""

    kind: str
    columns: tuple[str, ...] = COLUMNS
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def take(self, seed, attempt):
        """Make one attempt: it returns whether its answer is right, or raises."""
        self.counts["tried"] += 1
        try:
            with _patience():
                outcome = "accepted" if attempt() else "wrong"
            note = "accepted with a wrong answer"
        except Exception as error:
            own = own_error(error)
            outcome, note = ("refused" if own is not None and str(own) else "raw"), f"{type(error).__name__}: {error}"
        self.counts[outcome] += 1
        if outcome in ("raw", "wrong"):
            self.notes.append(f"{self.kind}, input {seed}: {note}"[:300])


class Ledger:
    """Tallies that are kept in a file, so that a campaign that was stopped goes on where it was.

    path : the file; without one nothing is kept. seconds : how long to go on at most.
    """

    def __init__(self, path=None, seconds=None):
        self.path, self.end = path, None if seconds is None else time.monotonic() + seconds
        self.kept = json.loads(path.read_text()) if path and path.exists() else {}
        self.is_stopped = False

    def tally(self, kind, columns=COLUMNS):
        """The tally of one kind, as far as it is."""
        kept = self.kept.get(kind, {"counts": {}, "notes": []})
        return Tally(kind, columns, Counter(kept["counts"]), kept["notes"])

    def attempts(self, tally, n):
        """Numbers of the attempts that are missing of ``n``; each is kept when the next one is asked for."""
        for number in range(tally.counts["tried"], n):
            if self.end is not None and time.monotonic() > self.end:
                self.is_stopped = True
                return
            yield number
            self.kept[tally.kind] = {"counts": tally.counts, "notes": tally.notes}
            if self.path:
                self.path.write_text(json.dumps(self.kept))


@contextmanager
def _patience():
    def give_up(*_):
        raise TimeoutError(f"no answer in {PATIENCE} seconds")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def table(tallies):
    """All counts, one line per kind, and their sums."""
    columns = tallies[0].columns
    total = Tally("all", columns, sum((tally.counts for tally in tallies), Counter()))
    head = f"{'':<30}" + "".join(f"{column:>16}" for column in columns)
    lines = [f"{t.kind:<30}" + "".join(f"{t.counts[column]:>16,}" for column in columns) for t in (*tallies, total)]
    return "\n".join([head, *lines])
