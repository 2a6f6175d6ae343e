"""The table of all methods in README.md, made from the registry: ``python -m aezsl.methods.table`` writes it again."""

import re
from pathlib import Path

from aezsl.methods.core.contract import LinearZeroShotClassifier
from aezsl.methods.registry import METHODS, Entry

README = Path(__file__).with_name("README.md")

#: What stands between these two lines of the page is generated.
START, END = "<!-- generated from the registry -->", "<!-- end of what is generated -->"

HEADER = ("name", "method", "what it does", "learns from", "linear", "source")


def with_table(page: str) -> str:
    """The page, with the table and its sources as the registry has them now."""
    if START not in page or END not in page:
        raise ValueError(f"the page must have the lines {START!r} and {END!r}, between which the table belongs")
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{make_table()}\n{END}{rest.partition(END)[2]}"


def make_table() -> str:
    """One line per method, then the sources that their last column numbers, as Markdown."""
    sources = list(dict.fromkeys(entry.load().citation for entry in METHODS.values()))
    lines = [HEADER, ("---",) * len(HEADER), *(_line(entry, sources) for entry in METHODS.values())]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([table, "", *(f"{number}. {source}" for number, source in enumerate(sources, start=1))])


def _line(entry: Entry, sources: list[str]) -> tuple[str, ...]:
    cls = entry.load()
    return (
        f"`{entry.name}`",
        entry.label,
        _markdown((cls.__doc__ or "").partition("\n")[0]),
        ", ".join([entry.needs, *["pool"] * entry.pool, *filter(None, [_starts(entry)])]),
        "yes" if issubclass(cls, LinearZeroShotClassifier) else "",
        str(sources.index(cls.citation) + 1),
    )


def _starts(entry: Entry) -> str:
    return " or ".join(f"`{name}`" for name in (entry.refines, entry.or_refines) if name)


def _markdown(text: str) -> str:
    """A line of a docstring, whose code and formulas are written in another way, in a cell of a table."""
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    return text.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
