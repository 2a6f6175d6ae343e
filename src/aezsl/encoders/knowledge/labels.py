"""What is done to a label before it is encoded, so that it gives the same answers however it is written."""

import re

from aezsl.encoders.knowledge.named import ARTICLE, known_words

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
