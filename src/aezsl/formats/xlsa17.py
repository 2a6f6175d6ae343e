"""The community's feature files: ``res101.mat`` and ``att_splits.mat`` of "Zero-Shot Learning - the Good, the Bad and
the Ugly" (Xian et al., 2017), for CUB, SUN, AWA1, AWA2, APY or any data in the same form.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.cub import readable
from aezsl.formats.image_folders import folder_names
from aezsl.formats.names import duplicates
from aezsl.formats.reading import FETCH_AGAIN, BenchmarkFormat, as_column, check_shape, first_few, read_mat, zero_based

#: Lists of images in att_splits.mat, and the official part they stand for.
PARTS = {"trainval_loc": "train", "test_seen_loc": "test_seen", "test_unseen_loc": "test_unseen"}
#: A division of trainval_loc by class, which some copies of the files lack.
VALIDATION = ("train_loc", "val_loc")

Split = dict[str, NDArray[np.int64]]


class Xlsa17(BenchmarkFormat):
    """``<root>/<name>/{res101,att_splits}.mat``: labels, image names, class vectors and the proposed split.

    name : the data set's folder: CUB, SUN, AWA1, AWA2, APY.
    attributes : the key of the class vectors: ``att`` (unit length) or ``original_att``.

    An image's id is its position in the file, counted from 0 (``000042``), since APY takes several objects from one
    image file; its path is the authors' own and need not exist here. The features are read by ``read_features``.
    """

    def __init__(self, *, root: str, name: str, attributes: str = "att") -> None:
        super().__init__(root=root)
        self.name, self.attributes = name, attributes

    def read(self) -> Benchmark:
        """Read labels and splits; the features stay on disk."""
        splits_path, features_path = self._path("att_splits.mat"), self._path("res101.mat")
        names, attributes = read_classes(splits_path, self.attributes)
        content = read_mat(features_path, ["labels", "image_files"])
        labels = zero_based(content["labels"], len(names), f"{features_path}: labels", "allclasses_names")
        files = content["image_files"]
        if len(files) != len(labels):
            raise DataError(f"{features_path}: {len(labels)} labels but {len(files)} image_files; {FETCH_AGAIN}")

        split = read_split(splits_path, len(labels))
        images = pd.DataFrame({"image_id": image_ids(len(labels)), "path": [str(file) for file in files]})
        images["class_name"] = [names[label] for label in labels]
        official = np.full(len(labels), None, dtype=object)
        for key, part in PARTS.items():
            official[split[key]] = part
        images["official"] = official

        classes = pd.DataFrame({"class_name": names, "text": [_readable(name) for name in names]})
        classes["role"] = self._roles(splits_path, labels, split, names)
        classes["attributes"] = as_column(attributes)
        return Benchmark(images, classes)

    def _path(self, file: str) -> Path:
        if not (self.root / self.name).is_dir() and self.root.is_dir():
            known = ", ".join(folder_names(self.root)) or "no folder"
            raise DataError(f"{self.root} has no data set {self.name!r}; it has {known}")
        what = {"res101.mat": "features, labels and image_files", "att_splits.mat": "class vectors and splits"}
        return self.require(f"{self.name}/{file}", what[file])

    @staticmethod
    def _roles(path: Path, labels: NDArray[np.int64], split: Split, names: list[str]) -> list[str]:
        """Seen are the classes that have training images; test images must agree."""
        seen, unseen = set(labels[split["trainval_loc"]]), set(labels[split["test_unseen_loc"]])
        if both := sorted(names[c] for c in seen & unseen):
            raise DataError(f"{path}: classes {first_few(both)} are in trainval_loc and in test_unseen_loc")
        if strangers := sorted(names[c] for c in set(labels[split["test_seen_loc"]]) - seen):
            raise DataError(f"{path}: classes {first_few(strangers)} are in test_seen_loc without training images")
        if lost := [name for c, name in enumerate(names) if c not in seen | unseen]:
            raise DataError(f"{path}: classes {first_few(lost)} are neither in trainval_loc nor in test_unseen_loc")
        return ["unseen" if c in unseen else "seen" for c in range(len(names))]


def image_ids(count: int) -> list[str]:
    """Ids of the images of one file, by position."""
    return [f"{position:06d}" for position in range(count)]


def read_classes(path: Path, key: str = "att") -> tuple[list[str], NDArray[np.float64]]:
    """Class names and vectors (C, a) of an att_splits.mat."""
    content = read_mat(path, ["allclasses_names", key])
    names, matrix = content["allclasses_names"], content[key]
    if names.dtype != object:
        raise DataError(f"{path}: expected allclasses_names to be a cell array of strings, got {names.dtype}")
    if repeated := duplicates(list(names)):
        raise DataError(f"{path}: allclasses_names has {first_few(repeated)} more than once")
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DataError(
            f"{path}: expected {key} to be attributes x {len(names)} classes (allclasses_names), got {matrix.shape}"
        )
    check_shape(matrix, matrix.shape, f"{path}: {key}")
    return [str(name).strip() for name in names], matrix.T


def read_split(path: Path, n_images: int) -> Split:
    """The image lists of an att_splits.mat, counted from 0; train_loc and val_loc where the file has them."""
    content = read_mat(path, PARTS, VALIDATION)
    split = {
        key: zero_based(value, n_images, f"{path}: {key}", "the images of res101.mat") for key, value in content.items()
    }
    for keys in (tuple(PARTS), tuple(key for key in VALIDATION if key in split)):
        together = np.concatenate([split[key] for key in keys]) if keys else np.empty(0, np.int64)
        if len(np.unique(together)) != len(together):
            raise DataError(f"{path}: {' and '.join(keys)} must be disjoint and name no image twice")
    for key in PARTS:
        if not len(split[key]) and key != "test_seen_loc":
            raise DataError(f"{path}: {key} is empty; {FETCH_AGAIN}")
    for key in VALIDATION:
        if key in split and not np.isin(split[key], split["trainval_loc"]).all():
            raise DataError(f"{path}: {key} names images that are not in trainval_loc")
    return split


def read_features(path: str | Path) -> tuple[list[str], NDArray[np.float32]]:
    """The features of a res101.mat: ids as in the images table, and one row (n, d) per image."""
    path = Path(path)
    content = read_mat(path, ["features", "labels"])
    features, count = content["features"], content["labels"].size
    if features.ndim != 2 or features.shape[1] != count:
        hint = ": it is the transpose of that" if features.ndim == 2 and features.shape[0] == count else ""
        raise DataError(
            f"{path}: expected features to be dimensions x {count} images, as labels has, got {features.shape}{hint}"
        )
    matrix = np.ascontiguousarray(features.T, dtype=np.float32)
    check_shape(matrix, matrix.shape, f"{path}: features (transposed)")
    return image_ids(count), matrix


def _readable(name: str) -> str:
    return readable(name).replace("+", " ")
