"""Images to classify as a catalog entry."""

from pathlib import Path
from typing import Any

from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.formats.new_images import NewImages, read_new_images


class NewImagesDataset(ReadOnlyDataset[NewImages]):
    """All images below a folder and the classes to choose among: see ``read_new_images``.

    All nodes of a run see one listing: files that come while it works are for the next run.
    """

    why = "these images are the user's"

    def __init__(self, *, images: str, classes: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(metadata=metadata)
        self.folder = Path(images).expanduser()
        self.classes = Path(classes).expanduser() if classes else None
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
