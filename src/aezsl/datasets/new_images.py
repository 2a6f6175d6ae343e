"""Images to classify: any folder, and a table of the classes to choose among."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset, DatasetError

from aezsl.datasets._files import IMAGE_SUFFIXES, image_table
from aezsl.datasets.folder import read_class_table


@dataclass(frozen=True)
class NewImages:
    """images : image_id (path below the folder), path, class_name (none). classes : see ``read_class_table``."""

    images: pd.DataFrame
    classes: pd.DataFrame | None  # None: the unseen classes of training
    attribute_names: tuple[str, ...] = ()


class NewImagesDataset(AbstractDataset[None, NewImages]):
    """All images below a folder, in whatever folders.

    images : the folder.
    classes : a table like classes.csv, roles not needed. Without it ``classes.csv`` in the folder if it is there, else
        the unseen classes of training. A table without descriptions chooses among the classes of training by name.
    """

    def __init__(self, *, images: str, classes: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.folder = Path(images).expanduser()
        self.classes = Path(classes).expanduser() if classes else None
        self.metadata = metadata

    def load(self) -> NewImages:
        """List the images and read the table; no image is opened."""
        if not self.folder.is_dir():
            raise DatasetError(f"no folder {self.folder}: give the folder of images as --params=predict.images=...")
        files = sorted(
            os.path.relpath(os.path.join(place, file), self.folder)
            for place, _, names in os.walk(self.folder)
            for file in names
            if file.lower().endswith(IMAGE_SUFFIXES) and not file.startswith(".")
        )
        if not files:
            raise DatasetError(f"{self.folder} has no images: expected {', '.join(IMAGE_SUFFIXES)}")
        images = image_table(self.folder, files, [None] * len(files))
        table = self.classes or self.folder / "classes.csv"
        if self.classes is None and not table.is_file():
            return NewImages(images, None)
        if not table.is_file():
            raise DatasetError(f"no table of classes at {table}: give it as --params=predict.classes=...")
        return NewImages(images, *read_class_table(table))

    def save(self, data: None) -> None:
        """Refuse: these are the user's."""
        raise DatasetError("NewImagesDataset is read-only")

    def _exists(self) -> bool:
        return self.folder.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"images": str(self.folder), "classes": str(self.classes)}
