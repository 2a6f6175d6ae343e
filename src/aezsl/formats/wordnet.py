"""WordNet nouns: synsets of a ``data.noun`` file, is-a edges, and class vectors of similarities in the hierarchy."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from aezsl.data.benchmark import Edge
from aezsl.errors import DataError
from aezsl.formats.reading import FETCH_AGAIN, first_few, reading

#: Pointers to a hypernym, and from an instance to the class it is one of.
HYPERNYM_POINTERS = ("@", "@i")
WNID = re.compile(r"n\d{8}")
Measure = Literal["path", "lin", "jiang_conrath"]


class Synset(NamedTuple):
    """One noun of WordNet."""

    lemmas: tuple[str, ...]
    definition: str
    hypernyms: tuple[str, ...]

    @property
    def text(self) -> str:
        """Lemmas and definition in one sentence."""
        return f"{', '.join(self.lemmas)}: {self.definition}"


def read_synsets(path: str | Path) -> dict[str, Synset]:
    """The synsets of a ``data.noun`` file by wnid (``n`` and eight digits, as ImageNet names them)."""
    path = Path(path)
    synsets = {}
    with reading(path, "a WordNet data.noun file"), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.startswith("  "):  # the licence, at the head of the file
                continue
            try:
                wnid, synset = _parse(line)
            except (ValueError, IndexError) as error:
                raise DataError(f"{path}, line {number} is not a noun of WordNet: {line[:60]!r}") from error
            synsets[wnid] = synset
    strangers = {parent for synset in synsets.values() for parent in synset.hypernyms} - synsets.keys()
    if not synsets or strangers:
        what = f"hypernyms {first_few(sorted(strangers))} are not in the file" if strangers else "no synset in it"
        raise DataError(f"{path}: {what}; {FETCH_AGAIN}")
    return synsets


def _parse(line: str) -> tuple[str, Synset]:
    """``offset file n word_count (word sense)+ pointer_count (pointer offset pos source/target)* | gloss``."""
    data, bar, gloss = line.partition("|")
    fields = data.split()
    offset, kind, n_words = fields[0], fields[2], int(fields[3], 16)
    pointers_at = 4 + 2 * n_words
    n_pointers = int(fields[pointers_at])
    pointers = fields[pointers_at + 1 :]
    if not bar or kind != "n" or len(offset) != 8 or not offset.isdecimal() or len(pointers) != 4 * n_pointers:
        raise ValueError("fields do not add up")
    words = fields[4:pointers_at:2]
    parents = (
        target for symbol, target in zip(pointers[::4], pointers[1::4], strict=True) if symbol in HYPERNYM_POINTERS
    )
    definition = re.split(r';\s*"', gloss.strip(), maxsplit=1)[0]  # examples of use follow in quotation marks
    return f"n{offset}", Synset(tuple(w.replace("_", " ") for w in words), definition, tuple(f"n{p}" for p in parents))


def read_edges(path: str | Path) -> list[Edge]:
    """(parent, child) pairs from a ``data.noun`` file or from a list with one pair per line (``wordnet.is_a.txt``).

    Nothing is above itself: edges that lead round in a circle are refused.
    """
    path = Path(path)
    edges = _listed_edges(path)
    if edges is None:
        synsets = read_synsets(path)
        edges = [(parent, child) for child, synset in synsets.items() for parent in synset.hypernyms]
    above: dict[str, set[str]] = {}
    for parent, child in edges:
        above.setdefault(child, set()).add(parent)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        circle = first_few(error.args[1], 5)
        raise DataError(
            f"{path}: a class cannot be above itself, but these lead round: {circle}; {FETCH_AGAIN}"
        ) from error
    return edges


def _listed_edges(path: Path) -> list[Edge] | None:
    """The pairs of a list; none where the file is a data.noun."""
    with reading(path, "WordNet edges"), path.open(encoding="utf-8-sig") as lines:
        first = next(lines, "")
        if not first.strip():
            raise DataError(f"{path} is empty or starts with a blank line: expected 'parent child' pairs of wnids")
        if first.startswith("  ") or "|" in first:
            return None
        return [_edge(path, number, line) for number, line in enumerate(chain([first], lines), 1) if line.strip()]


def _edge(path: Path, number: int, line: str) -> Edge:
    match line.split():
        case [parent, child] if WNID.fullmatch(parent) and WNID.fullmatch(child):
            return parent, child
    raise DataError(f"{path}, line {number}: expected 'parent child' as wnids like n02084071, got {line.strip()!r}")


class Taxonomy:
    """Directed is-a graph: a node may have several parents."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.parents: dict[str, list[str]] = {}
        self.children: dict[str, list[str]] = {}
        for parent, child in edges:
            for node in (parent, child):
                self.parents.setdefault(node, [])
                self.children.setdefault(node, [])
            self.parents[child].append(parent)
            self.children[parent].append(child)
        self.distances = lru_cache(maxsize=None)(self._distances)
        self.information = lru_cache(maxsize=None)(self._information)

    def _distances(self, node: str) -> dict[str, int]:
        """Number of edges to the node itself (0) and to each of its ancestors."""
        return _breadth_first(node, self.parents)

    def _information(self, node: str) -> float:
        r"""Information content without a corpus, from the number of nodes below (Seco, Veale, Hayes, 2004).

        .. math:: IC(v) = 1 - \frac{\log(|\mathrm{below}(v)| + 1)}{\log N}
        """
        below = len(_breadth_first(node, self.children)) - 1
        return 1 - math.log(below + 1) / math.log(len(self.parents))

    def similarity(self, u: str, v: str, measure: Measure = "path") -> float:
        """Similarity of two nodes, 1 for a node with itself; 0 where they have no common ancestor.

        path : 1 / (1 + edges on the shortest way through a common ancestor).
        lin : 2 IC(c) / (IC(u) + IC(v)), c their most informative common ancestor.
        jiang_conrath : 1 / (1 + IC(u) + IC(v) - 2 IC(c)), bounded like the others.
        """
        above_u, above_v = self.distances(u), self.distances(v)
        common = above_u.keys() & above_v.keys()
        if not common:
            return 0.0
        if measure == "path":
            return 1 / (1 + min(above_u[c] + above_v[c] for c in common))
        shared = max(self.information(c) for c in common)
        both = self.information(u) + self.information(v)
        if measure == "lin":
            return 2 * shared / both if both > 0 else 1.0  # only the root holds no information at all
        return 1 / (1 + both - 2 * shared)


def _breadth_first(start: str, neighbours: dict[str, list[str]]) -> dict[str, int]:
    distance, frontier = {start: 0}, [start]
    while frontier:
        reached = []
        for node in frontier:
            for other in neighbours[node]:
                if other not in distance:
                    distance[other] = distance[node] + 1
                    reached.append(other)
        frontier = reached
    return distance


def similarity_vectors(
    wnids: Sequence[str], edges: Iterable[Edge], measure: Measure = "path", reference: Sequence[str] | None = None
) -> tuple[NDArray[np.float32], list[str]]:
    """Each class as its similarities to all classes and all their ancestors: the paper's second embedding of Dogs.

    Akata et al. (2015) compare three measures; Lin and Jiang-Conrath need word counts of a corpus there. Here the
    default is the path measure, which needs none, and the other two use information content computed from the
    hierarchy itself. For the 113 breeds of the paper the dimension is then about its 163 (120 breeds: 172).

    Returns the matrix (classes, nodes), and the nodes: the classes in their order, then the other ancestors sorted;
    those of the ``reference`` classes where they are given, so that vectors of new classes fit to theirs.
    """
    if measure not in get_args(Measure):
        raise DataError(f"measure must be one of {', '.join(get_args(Measure))}, got {measure!r}")
    taxonomy = Taxonomy(edges)
    reference = wnids if reference is None else reference
    if strangers := [wnid for wnid in (*wnids, *reference) if wnid not in taxonomy.parents]:
        raise DataError(f"not in the hierarchy: {first_few(strangers)}; use the edges of WordNet 3.0")
    ancestors = set().union(*(taxonomy.distances(wnid) for wnid in reference)) - set(reference)
    nodes = [*dict.fromkeys(reference), *sorted(ancestors)]
    matrix = [[taxonomy.similarity(wnid, node, measure) for node in nodes] for wnid in wnids]
    return np.array(matrix, dtype=np.float32).reshape(len(wnids), len(nodes)), nodes
