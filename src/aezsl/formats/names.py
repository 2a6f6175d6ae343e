"""Names and texts that people write: what they may be made of, when two are the same, and how a name names a folder."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from aezsl.errors import DataError
from aezsl.machine.files import LONGEST

#: What names have beside letters, digits and emoji: signs, by which some scripts divide words, what joins letters and
#: emoji, and colours of skin.
SIGNS = (
    " .()'’-_·\u05be\u05f3\u05f4\u0f0b\u1361\u2010\u2011–・\u200c\u200d"
    "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
)
#: Characters of the name of a class at most.
LONGEST_CLASS_NAME = 1_000
#: Characters of a description at most.
LONGEST_TEXT = 100_000
#: Control characters that a description may have.
CONTROLS = "\n\r\t"


def composed(name: str) -> str:
    """One spelling of accented letters: some file systems store them as letter plus accent."""
    return unicodedata.normalize("NFC", name)


def alike_as(name: str) -> str:
    """What names have in common that people, and some file systems, take for the same."""
    visible = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return " ".join(visible.casefold().split())


def duplicates(names: Sequence[str]) -> list[str]:
    """The names that occur more than once, in order."""
    return [name for name, times in Counter(names).items() if times > 1]


def is_plain(name: str) -> bool:
    """Whether a name is made of letters of any script, digits, emoji and ``SIGNS``, and can name a folder."""
    first = unicodedata.category(name[0]) if name else ""
    return (first[:1] in ("L", "N") or first == "So") and name[-1] not in " ." and all(map(is_written, name))


def is_written(letter: str) -> bool:
    """Whether people write a letter, a mark on one, a digit, an emoji or one of ``SIGNS``."""
    kind = unicodedata.category(letter)
    return kind[0] in "LMN" or kind == "So" or letter in SIGNS


def folder_of(name: str, longest: int = LONGEST) -> str:
    """The folder of a class: its name, or where that has too many bytes, the beginning of it and a digest."""
    encoded = name.encode()
    if len(encoded) <= longest:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:16]
    return f"{encoded[: longest - 17].decode(errors='ignore')}~{digest}"


def check_text(path: Path, what: str, text: str, longest: int, allowed: str = "") -> None:
    """Refuse what people do not write: control characters, halves of letters, texts without end."""
    if len(text) > longest:
        raise DataError(f"{path}: {what} has {len(text):,} characters: {longest:,} at most, shorten it")
    strange = next((one for one in text if unicodedata.category(one) in ("Cc", "Cs") and one not in allowed), None)
    if strange is not None:
        kind = (
            "half of a letter" if unicodedata.category(strange) == "Cs" else "a line end or another control character"
        )
        raise DataError(f"{path}: {what} has {kind} ({strange!r}): retype it")
