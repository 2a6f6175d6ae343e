"""Rankings, scores and sorted images as catalog entries."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset

from aezsl.datasets.models import FileDataset
from aezsl.errors import NotReadyError
from aezsl.evaluation.ranking import Ranking, ScoreTable
from aezsl.formats.sorted_folders import sort_files
from aezsl.machine.files import folder_written_whole, written_whole
from aezsl.reporting.names import SortedImages


def _write_ranking(path: Path, ranking: Ranking) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    narrow = np.int32 if ranking.classes.max(initial=0) < 2**31 else np.int64
    with written_whole(path, ".npz") as whole:
        np.savez(whole, classes=ranking.classes.astype(narrow), scores=ranking.scores)


def _read_ranking(path: Path) -> Ranking:
    if not path.is_file():
        raise NotReadyError(f"no ranking at {path}: run the pipeline without --from-nodes and --nodes")
    with np.load(path, allow_pickle=False) as arrays:
        return Ranking(arrays["classes"].astype(np.int64), arrays["scores"])


class RankingDataset(FileDataset[Ranking]):
    """The best classes of every test image in an ``.npz`` file, so that a run can begin behind the node that ranks."""

    _write, _read = _write_ranking, _read_ranking


class ScoresDataset(AbstractDataset[ScoreTable | tuple[()], ScoreTable]):
    """An ``.npz`` file with the arrays of a ``ScoreTable`` by their names, written whole or not at all.

    An empty tuple says that nobody asked for scores; those of a former run would not be of this one, and go.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: ScoreTable | tuple[()]) -> None:
        """Write the file."""
        if not isinstance(data, ScoreTable):
            self._filepath.unlink(missing_ok=True)
            return
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {field.name: np.asarray(getattr(data, field.name)) for field in fields(data)}
        with written_whole(self._filepath, ".npz") as path:
            np.savez(path, **arrays)

    def load(self) -> ScoreTable:
        """Read it back."""
        if not self._filepath.is_file():
            raise NotReadyError(f"no scores at {self._filepath}: run with --params=evaluation.scores=true")
        with np.load(self._filepath, allow_pickle=False) as arrays:
            lists = {name: arrays[name].tolist() for name in ("image_id", "class_name")}
            return ScoreTable(**lists, **{name: arrays[name] for name in ("scores", "predicted", "true")})

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class SortedImagesDataset(AbstractDataset[SortedImages, Path]):
    """Copies of images, or links to them, in folders by name, which replace the former folder. Loads the place.

    Where nobody asked for sorted images, what a former run left stays as it is, and does not count as there.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata
        self._asked = True  # until a run says that nobody did

    def save(self, data: SortedImages) -> None:
        """Put every image into its folder."""
        self._asked = data.how is not None
        if data.how is None:
            return
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        with folder_written_whole(self._filepath) as folder:
            folder.mkdir()
            sort_files(folder, data.files, "links" if data.how == "links" else "copies")

    def load(self) -> Path:
        """Where they are."""
        return self._filepath

    def _exists(self) -> bool:
        return self._asked and self._filepath.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
