"""What became of bad inputs: counted by kind, with the seed of every one that was not taken well."""

from collections import Counter
from dataclasses import dataclass, field

from aezsl.errors import AezslError

#: tried: all; refused: with a sentence; accepted: with the answer that a clean equivalent gets, or with any finite
#: answer where none is known; raw: with the error of some library; wrong: accepted, with another answer.
COLUMNS = ("tried", "refused", "accepted", "raw", "wrong")


@dataclass
class Tally:
    """Counts of one kind of input."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def take(self, seed, attempt, refusals=(AezslError,)):
        """Make one attempt: it returns whether its answer is right, or raises."""
        self.counts["tried"] += 1
        try:
            outcome = "accepted" if attempt() else "wrong"
        except refusals as error:
            outcome = "refused" if str(error) else "raw"
        except Exception as error:
            outcome = "raw"
            self.notes.append(f"{self.kind}, seed {seed}: {type(error).__name__}: {error}"[:200])
        self.counts[outcome] += 1
        if outcome == "wrong":
            self.notes.append(f"{self.kind}, seed {seed}: accepted with a wrong answer")


def table(tallies):
    """All counts, one line per kind."""
    head = f"{'':<16}" + "".join(f"{column:>10}" for column in COLUMNS)
    lines = [f"{t.kind:<16}" + "".join(f"{t.counts[column]:>10}" for column in COLUMNS) for t in tallies]
    return "\n".join([head, *lines])
