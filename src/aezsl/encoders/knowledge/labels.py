"""What a label says in plain English, however and in whichever language it is written.

A text encoder does not know many single words of other languages: "Ente" is like "ape" to it, not like "duck". So a
word is looked up among the names that emoji have in 13 languages, which the package ``emoji`` brings along. They are
read only where a label is not English.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from aezsl.encoders.knowledge.named import ARTICLE, known_words
from aezsl.encoders.texts.encoder import looks_english
from aezsl.encoders.texts.fingerprints import MINILM, encoder_folder

#: What is said before a name and says nothing of it.
PROMPT = re.compile(r"^(this is )?(an? |the )?(photo|picture|image|photograph)s? (of|showing) ", re.IGNORECASE)


def plain_label(label: str) -> str:
    """The label in small letters, without underscores, article, full stop, or "a photo of".

    Words that are not English keep their capital letters. Plurals stay: in the singular fewer photos of held-out
    classes were named right (``python -m tests.benchmarks.bench_label_words``), and "pants" is not "pant".
    """
    text = PROMPT.sub("", " ".join(label.replace("_", " ").split()).removesuffix("."))
    words = [word.lower() if word.isupper() or is_english(word) else word for word in text.split()]
    return ARTICLE.sub("", " ".join(words)) or label


def is_english(word: str) -> bool:
    """Whether WordNet has a word, or what may be its singular, in what it says about things."""
    plain = word.lower().strip(",.")
    singulars = (plain.removesuffix("s"), plain.removesuffix("es"), re.sub("ies$", "y", plain))
    return plain in known_words() or any(one in known_words() for one in singulars)


#: What may stand before a noun of another language.
ARTICLES = re.compile(
    r"(?:(?:der|die|das|eine?|les?|la|une?|des|el|los|las|una|un[ao]s|il|lo|gli|um|uma|os?|as)\s+|[ld]['’])(?=\w)"
)


#: Of the words of a list of labels in English, those that ``is_common`` knows are at least as many.
ENGLISH_FROM = 0.6


def read_labels(labels: Sequence[str]) -> tuple[list[str], list[bool]]:
    """The labels in plain English as far as they can be, and which of them are still of another language.

    A word that is not English means what the emoji of this name shows. In a list that is of another language as a whole
    so do words that are English, too, such as "chat" in a French one. Two labels never become the same.
    """
    words = [_words(label) for label in labels]
    if all(map(is_english, _words(" ".join(labels)))):
        return [plain_label(label) for label in labels], [False] * len(labels)
    names = [ARTICLES.sub("", " ".join(label.lower().replace("_", " ").split()), count=1) for label in labels]
    meant, known = _meanings(names), [is_common(word) for own in words for word in own]
    most = sum(meant.get(name, name) != name for name in names) > len(names) / 2
    few = sum(known) < ENGLISH_FROM * len(known)
    strange = bool(meant) or not looks_english(labels) or not all(map(str.isascii, labels))
    of_other = not all(known) and (most or (few and strange))
    texts = [label.replace("_", " ") if of_other else plain_label(label) for label in labels]
    english = [meant.get(name) for name in names]
    for i, (own, text) in enumerate(zip(words, english, strict=True)):
        if text and english.count(text) == 1 and text not in texts and (of_other or not all(map(is_common, own))):
            texts[i] = text
    return texts, [of_other and text not in english for text in texts]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


def is_common(word: str) -> bool:
    """Whether a word is English, or one that the encoder of English texts has as a whole."""
    return is_english(word) or f"\n{word.lower()}\n" in _vocabulary()


@cache
def _vocabulary() -> str:
    return (encoder_folder(MINILM) / "vocab.txt").read_text(encoding="utf-8")


def _meanings(names: Sequence[str]) -> dict[str, str]:
    """English names by those of the one language in which emoji have most of the names, and not in English, too."""
    if not (files := _dictionaries()):
        return {}
    english = _written(files[0].with_name("emoji.json"))
    spelt = [f'":{name.replace(" ", "_")}:"' for name in names]
    foreign = [name for name in spelt if name not in english]
    found = {path: sum(name in _written(path) for name in foreign) for path in files}
    best = max(found, key=found.__getitem__)
    return _dictionary(best) if found[best] else {}


@cache
def _dictionaries() -> tuple[Path, ...]:
    """A file for each language: the name of every emoji."""
    spec = find_spec("emoji")
    folder = Path(spec.origin).with_name("unicode_codes") if spec and spec.origin else Path()
    return tuple(sorted(folder.glob("emoji_??.json")))


@cache
def _written(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _dictionary(path: Path) -> dict[str, str]:
    """English names of things by their names in another language; names of people, places and signs are left out."""
    english = json.loads(path.with_name("emoji.json").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for emoji, name in json.loads(_written(path)).items():
        meaning = _spoken(english[emoji]["en"])
        if meaning.islower() and "skin tone" not in meaning:
            found.setdefault(_spoken(name), meaning)
    return found


def _spoken(name: str) -> str:
    return name.strip(":").replace("_", " ")
