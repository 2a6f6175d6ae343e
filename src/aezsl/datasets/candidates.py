"""Lists of candidate classes, and the hierarchy that they belong to: the large-scale protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from aezsl.datasets._files import read_names
from aezsl.datasets.wordnet import Edge, read_edges


@dataclass(frozen=True)
class Candidates:
    """Names of the classes of every list, and the edges of the hierarchy where there is one."""

    lists: Mapping[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] | None = None


class CandidatesDataset(AbstractDataset[None, Candidates]):
    """Reads files of class names, one a line, by the name of the list, and WordNet's edges.

    lists : list -> file; empty where all unseen classes are the candidates.
    edges : ``parent child`` lines or WordNet's ``data.noun``; null for none, and no hierarchical precision then.
    """

    def __init__(
        self,
        *,
        lists: dict[str, str] | None = None,
        edges: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.lists = {name: Path(path).expanduser() for name, path in (lists or {}).items()}
        self.edges = None if edges is None else Path(edges).expanduser()
        self.metadata = metadata

    def load(self) -> Candidates:
        """Read all of it."""
        lists = {name: read_names(path, f"the candidate classes {name!r}") for name, path in self.lists.items()}
        return Candidates(lists, None if self.edges is None else read_edges(self.edges))

    def save(self, data: None) -> None:
        """Refuse: lists are read, never written."""
        raise DatasetError("CandidatesDataset is read-only")

    def _exists(self) -> bool:
        return all(path.is_file() for path in [*self.lists.values(), *([self.edges] if self.edges else [])])

    def _describe(self) -> dict[str, Any]:
        return {"lists": {name: str(path) for name, path in self.lists.items()}, "edges": str(self.edges)}
