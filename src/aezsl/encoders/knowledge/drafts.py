"""Drafts of descriptions, offline: what WordNet and others say of a class, or of the known ones that are most like it.

A person has to read them: a name may mean something else, and what is most like a class may be unlike it.
"""

from collections.abc import Sequence

import pandas as pd

from aezsl.encoders.knowledge.named import description, wordnet
from aezsl.encoders.knowledge.vectors import nearest_classes
from aezsl.encoders.texts.written import wnids_of, written_sentences
from aezsl.errors import DataError
from aezsl.formats.class_table import DRAFT

#: Known classes that say what an unknown one may be like, and sentences that are taken of each.
NEAREST, SENTENCES = 2, 2


def draft_descriptions(classes: pd.DataFrame) -> tuple[pd.DataFrame, str | None]:
    """The classes with the columns wnid and description, and what is missing, if something is.

    A class with its name in WordNet, where one class alone has it, is described by its own names, those above it, its
    gloss, and sentences that are published. Any other is described by those of the classes that are most like it.
    """
    wnids = wnids_of(classes)
    unknown = [name for name, wnid in zip(classes["class_name"], wnids, strict=True) if not wnid]
    like = dict(zip(unknown, nearest_classes(_spoken(unknown), NEAREST) if unknown else [], strict=True))
    wanted = {*filter(None, wnids), *(wnid for nearest in like.values() for wnid in nearest)}
    missing, published = None, {}
    try:
        published = written_sentences("cupl", pd.DataFrame({"class_name": sorted(wanted), "wnid": sorted(wanted)}))
    except DataError as error:
        missing = str(error)
    texts = []
    for name, wnid in zip(classes["class_name"], wnids, strict=True):
        if wnid:
            said = [f"{description(wnid)}.", f"{_capital(wordnet()[wnid].gloss)}.", *_some(published, wnid)]
        else:
            (own,) = _spoken([name])
            said = [f"{own}, perhaps like {' or '.join(wordnet()[near].names[0] for near in like[name])}."]
            for near in like[name]:
                said += [f"{_capital(wordnet()[near].names[0])}: {wordnet()[near].gloss}.", *_some(published, near)]
        texts.append(DRAFT + " ".join(said))
    return classes.assign(wnid=wnids, description=texts), missing


def _some(published: dict[str, list[str]], wnid: str) -> list[str]:
    return published.get(wnid, [])[:SENTENCES]


def _spoken(names: Sequence[str]) -> list[str]:
    return [name.replace("_", " ") for name in names]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
