"""Images to classify: any folder, and a table of the classes to choose among."""

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from aezsl.errors import DataError
from aezsl.formats.folder import read_class_table
from aezsl.formats.reading import IMAGE_SUFFIXES, image_table


@dataclass(frozen=True)
class NewImages:
    """images : image_id (path below the folder), path, class_name (none). classes : see ``read_class_table``."""

    images: pd.DataFrame
    classes: pd.DataFrame | None  # None: the unseen classes of training
    attribute_names: tuple[str, ...] = ()


def read_new_images(folder: Path, classes: Path | None = None) -> NewImages:
    """List all images below a folder, in whatever folders, and read the table; no image is opened.

    classes : a table like classes.csv, roles not needed. Without it ``classes.csv`` in the folder if it is there, else
        the unseen classes of training. A table without descriptions chooses among the classes of training by name.
    """
    if not folder.is_dir():
        raise DataError(f"no folder {folder}: give the folder of images as --params=predict.images=...")
    files = sorted(
        os.path.relpath(os.path.join(place, file), folder)
        for place, _, names in os.walk(folder)
        for file in names
        if file.lower().endswith(IMAGE_SUFFIXES) and not file.startswith(".")
    )
    if not files:
        raise DataError(f"{folder} has no images: expected {', '.join(IMAGE_SUFFIXES)}")
    images = image_table(folder, files, [None] * len(files))
    table = classes or folder / "classes.csv"
    if classes is None and not table.is_file():
        return NewImages(images, None)
    if not table.is_file():
        raise DataError(f"no table of classes at {table}: give it as --params=predict.classes=...")
    return NewImages(images, *read_class_table(table))
