"""Your own images: a folder per class and a table that describes the classes."""

import logging
from pathlib import Path

import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.class_table import check_roles, drafted_by, read_class_table
from aezsl.formats.image_folders import ImageFolders
from aezsl.formats.images import IMAGE_SUFFIXES
from aezsl.formats.names import alike_as, composed, folder_of
from aezsl.formats.reading import BenchmarkFormat, check_known, first_few, image_table

log = logging.getLogger(__name__)

#: Folders of images whose class is not known: these below images, or beside it with or without the underscore.
UNLABELLED = ("_unlabelled", "_unlabeled")


class Folder(BenchmarkFormat):
    """``images/<class>/*.jpg`` and ``classes.csv``.

    classes.csv has the columns class_name, role (seen or unseen), and what describes a class: ``description`` (free
    text), attribute columns (numbers), or both; ``group`` and ``wnid`` may be there too. Seen classes need images,
    unseen ones may have none. Folders below that of a class hold more of its images. Images in ``images/_unlabelled``
    or ``unlabelled`` are to be classified; nobody knows their class. Whatever else lies there is named in the log.
    """

    def read(self) -> Benchmark:
        """Read the table and list the images; no image is opened."""
        path = self.require("classes.csv", "class_name, role, and a description or attributes per class")
        classes, attribute_names = read_class_table(path)
        check_roles(path, classes)
        if not {"text", "attributes"} & set(classes.columns):
            drafted = drafted_by(classes["class_name"].tolist())
            raise DataError(f"{path} describes nothing: add a column description ({drafted}), or columns of numbers")
        names = list(classes["class_name"])
        if "text" in classes and (bare := _named_only(classes)):
            log.warning("%s: %s have a name and no more; %s", path, first_few(bare), drafted_by(bare))
        images = self._images(path, names)
        of_seen = [name for name, role in zip(names, classes["role"], strict=True) if role == "seen"]
        if bare := sorted(set(of_seen) - set(images["class_name"].dropna())):
            raise DataError(
                f"{self.root / 'images'} has no image of the seen classes {first_few(bare)}: "
                "add some, or make them unseen"
            )
        return Benchmark(images, classes, attribute_names)

    def _images(self, table: Path, names: list[str]) -> pd.DataFrame:
        base = self.require("images", "one folder of images per class")
        listing = ImageFolders(self.root, [table])
        files: list[str] = []
        labels: list[str | None] = []
        for place, label in self._places(listing, base, table, names):
            found = listing.images_below(self.root / place, label)
            files += [f"{place}/{Path(file).as_posix()}" for file in found]
            labels += [label] * len(found)
        listing.log_rest()
        if not files:
            raise DataError(f"{base} has no images: expected images/<class>/<any name>{' or '.join(IMAGE_SUFFIXES)}")
        return image_table(self.root, files, labels)

    def _places(self, listing: ImageFolders, base: Path, table: Path, names: list[str]) -> list[tuple[str, str | None]]:
        """Folders below the root and the class of their images, in the order of the table; those without class last."""
        by_class: dict[str, list[str]] = {}
        class_of = {folder_of(name): name for name in names}
        unlabelled: list[str] = []
        for name in listing.folders(base, known=names):
            if name.lower() in UNLABELLED:
                unlabelled.append(f"images/{name}")
            else:  # a class may have two folders, whose names differ in how accents are stored
                own = composed(name)
                by_class.setdefault(class_of.get(own, own), []).append(f"images/{name}")
        listing.pass_over_files(base, names)
        listing.pass_over_files(self.root)
        check_known(by_class, names, f"{base}, by its folders, against {table.name},")
        for name in listing.folders(self.root):
            if f"_{name.lower().removeprefix('_')}" in UNLABELLED:
                unlabelled.append(name)
            elif self.root / name != base:
                listing.pass_over("folders beside images", self.root / name)
        places: list[tuple[str, str | None]] = [(place, name) for name in names for place in by_class.get(name, [])]
        return places + [(place, None) for place in unlabelled]


def _named_only(classes: pd.DataFrame) -> list[str]:
    """The classes whose description is their name."""
    pairs = zip(classes["class_name"], classes["text"], strict=True)
    return [name for name, text in pairs if alike_as(text) == alike_as(name.replace("_", " "))]
