"""Caltech-UCSD Birds-200-2011 in its official layout."""

from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.reading import (
    FETCH_AGAIN,
    BenchmarkFormat,
    as_column,
    find_list,
    image_table,
    read_matrix,
    read_names,
    read_numbered,
    reading,
    roles_from_unseen,
    warn_of_missing,
    zero_based,
)

N_ATTRIBUTES = 312
LINES_AT_ONCE = 500_000


class CUB(BenchmarkFormat):
    """``CUB_200_2011``: images, classes and 312 attributes per class, as fractions between 0 and 1.

    root : the folder that holds classes.txt.
    unseen_list : file with the names of the unseen classes as in classes.txt, one per line. Without it no roles.
    attributes : ``images`` averages the binary attributes of a class's images, as the paper does; ``shipped`` takes
        the percentages that come with the data (weighted by the certainty of the annotators), divided by 100.
    official_split : also read train_test_split.txt, which halves every class: its test images of seen classes are
        then test_seen. The paper trains on all images of the seen classes, so the default leaves it alone.
    """

    def __init__(
        self,
        *,
        root: str,
        unseen_list: str | None = None,
        attributes: Literal["images", "shipped"] = "images",
        official_split: bool = False,
    ) -> None:
        super().__init__(root=root)
        if attributes not in ("images", "shipped"):
            raise DataError(f"attributes must be 'images' or 'shipped', got {attributes!r}")
        if official_split and unseen_list is None:
            raise DataError("official_split needs unseen_list: it says which test images are of seen classes")
        self.unseen_list, self.attributes, self.official_split = unseen_list, attributes, official_split

    def read(self) -> Benchmark:
        """Read the text files; no image is opened."""
        names = read_numbered(self.require("classes.txt", "the class names"), "the class names")
        files = read_numbered(self.require("images.txt", "the image list"), "the image list")
        labels = self._labels(len(files), len(names))
        self._check_folders(files, [names[label] for label in labels])
        images = image_table(self.root / "images", files, [names[label] for label in labels])
        classes = pd.DataFrame({"class_name": names, "text": [readable(name) for name in names]})
        if self.unseen_list is not None:
            path = find_list(self.root, self.unseen_list, "the unseen classes")
            classes["role"] = roles_from_unseen(names, read_names(path, "unseen classes"), path)
        if self.official_split:
            images["official"] = self._official(images, classes)
        averaged = self.attributes == "images"
        matrix = self._averaged(labels, len(names)) if averaged else self._shipped(len(names))
        classes["attributes"] = as_column(matrix)
        warn_of_missing(images)
        return Benchmark(images, classes, self._attribute_names())

    def _labels(self, n_images: int, n_classes: int) -> NDArray[np.int64]:
        path = self.require("image_class_labels.txt", "the class number of every image")
        values = self._numbers(path, n_images)
        labels = zero_based(values, n_classes, str(path), "classes.txt")
        if empty := n_classes - len(np.unique(labels)):
            raise DataError(f"{path}: {empty} classes of classes.txt have no image; {FETCH_AGAIN}")
        return labels

    def _check_folders(self, files: list[str], class_names: list[str]) -> None:
        """Folders carry the class names too, so labels that slipped by a line cannot pass."""
        for number, (file, name) in enumerate(zip(files, class_names, strict=True), start=1):
            if file.rpartition("/")[0] != name:
                raise DataError(
                    f"{self.root}: image {number} is {file!r} in images.txt but of class {name!r} by "
                    f"image_class_labels.txt and classes.txt; {FETCH_AGAIN}"
                )

    @staticmethod
    def _numbers(path: Path, n_images: int) -> NDArray[np.int64]:
        values = read_numbered(path, "one number per image")
        if len(values) != n_images:
            raise DataError(f"{path} has {len(values)} images, images.txt {n_images}; {FETCH_AGAIN}")
        with reading(path, "one whole number per image"):
            return np.array([int(value) for value in values])

    def _official(self, images: pd.DataFrame, classes: pd.DataFrame) -> NDArray[np.object_]:
        path = self.require("train_test_split.txt", "1 for training and 0 for test images")
        training = self._numbers(path, len(images))
        if not np.isin(training, (0, 1)).all():
            raise DataError(f"{path}: expected 0 or 1 per image, got {sorted(set(training.tolist()) - {0, 1})[:3]}")
        role = images["class_name"].map(classes.set_index("class_name")["role"])
        return np.where(role == "unseen", "test_unseen", np.where(training == 1, "train", "test_seen")).astype(object)

    def _shipped(self, n_classes: int) -> NDArray[np.float32]:
        relative = "attributes/class_attribute_labels_continuous.txt"
        path = self.require(relative, f"{N_ATTRIBUTES} percentages per class")
        percentages = read_matrix(path, (n_classes, N_ATTRIBUTES), "attribute percentages, one line per class")
        return percentages / np.float32(100)

    def _averaged(self, labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float32]:
        """Mean presence per class of ``<image> <attribute> <is_present> <certainty> <time>`` lines, read in blocks."""
        if not (self.root / "attributes/image_attribute_labels.txt").exists():
            hint = "binary attributes per image; or use the percentages, --params=cub.attributes=shipped"
            self.require("attributes/image_attribute_labels.txt", hint)
        path = self.root / "attributes/image_attribute_labels.txt"
        present = np.zeros((len(labels), N_ATTRIBUTES))
        answers = np.zeros((len(labels), N_ATTRIBUTES))
        what = "lines of '<image> <attribute> <is_present> <certainty> <time>'"
        with reading(path, what), path.open(encoding="utf-8") as handle:
            while lines := list(islice(handle, LINES_AT_ONCE)):
                # Some lines of the official file have more than five columns; the first three are always right.
                block = np.loadtxt(lines, dtype=np.int64, usecols=(0, 1, 2), ndmin=2)
                image = zero_based(block[:, 0], len(labels), str(path), "images.txt")
                attribute = zero_based(block[:, 1], N_ATTRIBUTES, str(path), "attributes.txt")
                value = block[:, 2]
                if not np.isin(value, (0, 1)).all():
                    raise DataError(f"{path}: is_present must be 0 or 1, got {value[~np.isin(value, (0, 1))][0]}")
                np.add.at(present, (image, attribute), value)
                np.add.at(answers, (image, attribute), 1)
        if missing := int((answers == 0).sum()):
            image, attribute = np.argwhere(answers == 0)[0] + 1
            raise DataError(
                f"{path}: no answer for {missing} of {answers.size} pairs of image and attribute, first for image "
                f"{image}, attribute {attribute}; {FETCH_AGAIN}"
            )
        per_image = present / answers  # several workers may have answered for the same image
        sums = np.zeros((n_classes, N_ATTRIBUTES))
        np.add.at(sums, labels, per_image)
        return (sums / np.bincount(labels, minlength=n_classes)[:, None]).astype(np.float32)

    def _attribute_names(self) -> tuple[str, ...]:
        """From attributes.txt, which the official archive has beside the folder and some copies inside it."""
        places = (self.root / "attributes", self.root, self.root.absolute().parent)
        path = next((place / "attributes.txt" for place in places if (place / "attributes.txt").is_file()), None)
        if path is None:
            return ()
        names = read_numbered(path, "the attribute names")
        if len(names) != N_ATTRIBUTES:
            raise DataError(f"{path}: expected {N_ATTRIBUTES} attribute names, got {len(names)}; {FETCH_AGAIN}")
        return tuple(names)


def readable(name: str) -> str:
    """``001.Black_footed_Albatross`` as ``Black footed Albatross``."""
    number, dot, rest = name.partition(".")
    return (rest if dot and number.isdecimal() and rest else name).replace("_", " ")
