"""Images to classify: any folder, and a table of the classes to choose among."""

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from aezsl.errors import DataError
from aezsl.formats.class_table import read_class_table
from aezsl.formats.image_folders import ImageFolders
from aezsl.formats.images import IMAGE_SUFFIXES
from aezsl.formats.reading import image_table


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
    require_folder(folder)
    table = classes or folder / "classes.csv"
    listing = ImageFolders(folder, [table, folder / "classes.csv"])
    files = listing.images_below(folder)
    listing.log_rest()
    if not files:
        raise DataError(f"{folder} has no images: expected {', '.join(IMAGE_SUFFIXES)}")
    images = image_table(folder, files, [None] * len(files))
    if classes is None and not os.path.lexists(table):
        return NewImages(images, None)
    if not os.path.lexists(table):
        raise DataError(f"no table of classes at {table}: give it as --params=predict.classes=...")
    return NewImages(images, *read_class_table(table))


def require_folder(folder: Path) -> None:
    """Refuse a folder of images that there is not."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}: give the folder of images as --params=predict.images=...")
