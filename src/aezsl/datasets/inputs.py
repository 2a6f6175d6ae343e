"""What comes from outside as catalog entries: benchmarks, candidate lists, new images, finished results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aezsl.data.benchmark import Benchmark, Candidates
from aezsl.datasets.places import ReadOnlyDataset
from aezsl.formats import make_format
from aezsl.formats.image_folders import NewImages, read_new_images
from aezsl.formats.reading import read_names
from aezsl.formats.wordnet import read_edges
from aezsl.reporting.results import Results


class BenchmarkDataset(ReadOnlyDataset[Benchmark]):
    """A data set as its authors lay it out: ``format`` names the reader (``aezsl.formats``), the rest is for it."""

    why = "benchmarks are read-only"

    def __init__(self, *, format: str, metadata: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(metadata=metadata)
        self._format, self._options = format, options
        self._reader = make_format(format, **options)

    def load(self) -> Benchmark:
        """Read all of it; no image is opened."""
        return self._reader.read()

    def _exists(self) -> bool:
        return self._reader.exists()

    def _describe(self) -> dict[str, Any]:
        return {"format": self._format, **self._options}


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


class NewImagesDataset(ReadOnlyDataset[NewImages]):
    """All images below a folder and the classes to choose among: see ``read_new_images``.

    All nodes of a run see one listing: files that come while it works are for the next run.
    """

    why = "these images are the user's"

    def __init__(self, *, images: str, classes: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self.folder = Path(str(images)).expanduser()  # a number on the command line is a name, too
        self.classes = Path(str(classes)).expanduser() if classes else None
        self._found: NewImages | None = None

    def load(self) -> NewImages:
        """List the images and read the table; no image is opened."""
        if self._found is None:
            self._found = read_new_images(self.folder, self.classes)
        return self._found

    def _release(self) -> None:
        self._found = None

    def _exists(self) -> bool:
        return self.folder.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"images": str(self.folder), "classes": str(self.classes)}


class ResultsDataset(ReadOnlyDataset[Results]):
    """Scans folders and single files: see ``Results.scan``.

    folders : folders whose subfolders are named after what made the results. They need not exist.
    files : further single files by kind.
    """

    why = "results are written by the runs that make them, through the entries of catalog_08_reporting.yml"

    def __init__(
        self, *, folders: Sequence[str], files: Mapping[str, str] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        super().__init__(metadata=metadata)
        self._folders = [Path(folder) for folder in folders]
        self._single = {kind: Path(path) for kind, path in (files or {}).items()}

    def load(self) -> Results:
        """Everything there is now."""
        return Results.scan(self._folders, self._single)

    def _describe(self) -> dict[str, Any]:
        return {"folders": [str(folder) for folder in self._folders]}
