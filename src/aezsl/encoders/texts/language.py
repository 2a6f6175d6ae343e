"""Whether descriptions are in a language that an encoder of English sentences reads."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

#: Small words of English, and of its neighbours where English has none that look like them.
ENGLISH, OTHERS = (
    frozenset(words.split())
    for words in (
        "a an and at by for from has in is its of on or that the to with",
        "avec con das del der di dos een ein eine einem einen einer el es est et gli het il ist jest la las le les los "
        "med met mit mu och og os oraz se sur um uma un una und une van von y z",
    )
)

#: Letters of other scripts that are a name or a sign, not yet a language.
FEW = 0.2


def looks_english(texts: Sequence[str]) -> bool:
    """False where most letters are not Latin ones, or small words are mostly those of another language.

    Lists of keywords have no small words, and pass: this is for sentences, which are what people write.
    """
    letters = Counter(
        unicodedata.name(letter, "").startswith("LATIN") for text in texts for letter in text if letter.isalpha()
    )
    if letters[False] > FEW * letters.total():
        return False
    words = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower()))
    english, others = (sum(words[word] for word in known) for known in (ENGLISH, OTHERS))
    return not (others > english and others >= len(texts) / 2)
