"""Classifiers with the names of their classes, and what WordNet says about the classes of ImageNet.

``imagenet_1k.tsv`` has the 1,000 classes of ImageNet in the order of the networks' outputs and all classes above them,
from WordNet 3.0 (its licence: ``WORDNET_LICENSE.txt``). ``make_texts`` writes it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aezsl.arrays import Float32
from aezsl.errors import DataError
from aezsl.evaluation.groups import Groups

TABLE = Path(__file__).with_name("imagenet_1k.tsv")

#: The first lines of the table are the classes of ImageNet.
N_CLASSES = 1000

#: What stands between names in the table, and in what networks call their classes.
BETWEEN = ", "


#: Classes of ImageNet at most in a group that may name an image: animal has 398, whole 949.
WIDEST = 400

#: What may stand before the name of a class.
ARTICLE = re.compile(r"^(an?|the) ")


class Synset(NamedTuple):
    """A class of WordNet: names, those directly above it, and what it is."""

    names: tuple[str, ...]
    parents: tuple[str, ...]
    gloss: str


@dataclass(frozen=True)
class NamedClassifiers:
    """What a network that ends in named classifiers gives: the logits of features X are ``X @ rows.T + biases``."""

    rows: Float32  # (C, d)
    biases: Float32  # (C,)
    names: tuple[str, ...]  # as the network calls them
    wnids: tuple[str | None, ...]  # which classes of ImageNet they are, where known

    @classmethod
    def build(cls, rows: Float32, biases: Float32, names: Sequence[str]) -> "NamedClassifiers":
        """With the classes of ImageNet found by name; a head of its 1,000 classes has them in their order."""
        if len(names) != len(rows):
            raise DataError(f"{len(rows)} classifiers have {len(names)} names: each needs one")
        if empty := [number for number, name in enumerate(names) if not name.strip()]:
            raise DataError(f"class {empty[0]} of {len(names)} has no name")
        leaves = imagenet_classes()
        found = tuple(leaves) if _is_imagenet(names) else tuple(_by_name().get(name.lower()) for name in names)
        return cls(rows, biases, tuple(names), found)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """What each class is: its names, and what is above it and above that, where known."""
        return tuple(self._described(i) for i in range(len(self.names)))

    @property
    def lineage(self) -> tuple[tuple[str, ...], ...]:
        """What each class may be called: its own names, then those of all classes above it, each once."""
        return tuple(tuple(dict.fromkeys(self._called(i))) for i in range(len(self.names)))

    def _called(self, i: int) -> Iterator[str]:
        yield from self.names[i].split(BETWEEN)
        if wnid := self.wnids[i]:
            for above in upwards(wnid):
                yield from wordnet()[above].names

    def _described(self, i: int) -> str:
        wnid = self.wnids[i]
        return description(wnid) if wnid else self.names[i]


@cache
def wordnet() -> Mapping[str, Synset]:
    """The classes of ImageNet and all classes above them, by wnid; those of ImageNet come first."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return {wnid: Synset(tuple(names.split(BETWEEN)), tuple(above.split()), what) for wnid, names, above, what in rows}


@cache
def imagenet_classes() -> tuple[str, ...]:
    """The wnids of the 1,000 classes, in the order of the networks' outputs."""
    return tuple(wordnet())[:N_CLASSES]


def upwards(wnid: str) -> list[str]:
    """The class itself and all above it, nearest first."""
    found = [wnid]
    for one in found:
        found += [parent for parent in wordnet()[one].parents if parent not in found]
    return found


def groups_of(wnids: Sequence[str]) -> Groups | None:
    """The groups of WordNet among some classes: those above them, and a class itself where others are below it.

    Wider ones than ``WIDEST`` say too little of an image. A class that is not known here is in no group.
    """
    known = wordnet()
    lineages = [[one for one in upwards(w) if below()[one] <= WIDEST] if w in known else [] for w in wnids]
    return Groups.of(lineages, {wnid: synset.names[0] for wnid, synset in known.items()})


def found_by_name(labels: Sequence[str]) -> list[str]:
    """The wnid of the class that a label names, where exactly one of ImageNet or above has this name; else empty."""
    named: dict[str, set[str]] = {}
    for wnid, synset in wordnet().items():
        for name in synset.names:
            named.setdefault(name.casefold(), set()).add(wnid)
    plain = (ARTICLE.sub("", " ".join(label.casefold().replace("_", " ").split())) for label in labels)
    found = (named.get(name, set()) for name in plain)
    return [next(iter(wnids)) if len(wnids) == 1 else "" for wnids in found]


@cache
def below() -> Mapping[str, int]:
    """How many classes of ImageNet are below every class, itself among them."""
    return Counter(above for wnid in imagenet_classes() for above in upwards(wnid))


def description(wnid: str) -> str:
    """All names of a class, then the first name of the class above it and of the one above that."""
    names = [*wordnet()[wnid].names]
    for _ in range(2):
        if not wordnet()[wnid].parents:
            break
        wnid = wordnet()[wnid].parents[0]
        names.append(wordnet()[wnid].names[0])
    return BETWEEN.join(names)


@cache
def _by_name() -> dict[str, str]:
    """The wnid of every class of ImageNet by all its names joined, and by each name that only one class has."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for wnid in imagenet_classes():
        for name in {one.lower() for one in wordnet()[wnid].names}:
            if found.setdefault(name, wnid) != wnid:
                twice.add(name)
    single = {name: wnid for name, wnid in found.items() if name not in twice}
    return single | {BETWEEN.join(wordnet()[wnid].names).lower(): wnid for wnid in imagenet_classes()}


def _is_imagenet(names: Sequence[str]) -> bool:
    """Whether the names are those of ImageNet's 1,000 classes in their order, however each library spells them."""
    leaves = imagenet_classes()
    if len(names) != len(leaves):
        return False
    known = _by_name()
    right = sum(known.get(name.lower()) == wnid for name, wnid in zip(names, leaves, strict=True))
    return right > len(leaves) / 2
