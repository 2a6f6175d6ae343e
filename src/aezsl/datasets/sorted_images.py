"""A folder of sorted images as a catalog entry."""

import shutil
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from aezsl.errors import DataError
from aezsl.machine.files import folder_written_whole
from aezsl.reporting.sorted_images import SortedImages


class SortedImagesDataset(AbstractDataset[SortedImages, Path]):
    """Copies of images, or links to them, in folders by name, which replace the former folder. Loads the place.

    Where nobody asked for sorted images, what a former run left stays as it is.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: SortedImages) -> None:
        """Put every image into its folder."""
        if data.how is None:
            return
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        with folder_written_whole(self._filepath) as folder:
            folder.mkdir()
            for place, source in data.files.items():
                target = folder / place
                if not target.resolve().is_relative_to(folder.resolve()):
                    raise DataError(f"a sorted image must lie below its folder, got {place!r}")
                target.parent.mkdir(parents=True, exist_ok=True)
                if data.how == "links":
                    target.symlink_to(Path(source).resolve())
                else:
                    shutil.copyfile(source, target)

    def load(self) -> Path:
        """Where they are."""
        return self._filepath

    def _exists(self) -> bool:
        return self._filepath.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
