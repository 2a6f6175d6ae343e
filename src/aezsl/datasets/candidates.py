"""Lists of candidate classes as a catalog entry."""

from pathlib import Path
from typing import Any

from aezsl.data.candidates import Candidates
from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.formats.reading import read_names
from aezsl.formats.wordnet import read_edges


class CandidatesDataset(ReadOnlyDataset[Candidates]):
    """Reads files of class names, one per line, by the name of the list, and WordNet's edges.

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
        super().__init__(metadata=metadata)
        self.lists = {name: Path(path).expanduser() for name, path in (lists or {}).items()}
        self.edges = None if edges is None else Path(edges).expanduser()

    def load(self) -> Candidates:
        """Read all of it."""
        lists = {name: read_names(path, f"the candidate classes {name!r}") for name, path in self.lists.items()}
        return Candidates(lists, None if self.edges is None else read_edges(self.edges))

    def _exists(self) -> bool:
        return all(path.is_file() for path in [*self.lists.values(), *([self.edges] if self.edges else [])])

    def _describe(self) -> dict[str, Any]:
        return {"lists": {name: str(path) for name, path in self.lists.items()}, "edges": str(self.edges)}
