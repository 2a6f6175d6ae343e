"""The SUN Attribute Database in its official layout."""

from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.reading import (
    FETCH_AGAIN,
    BenchmarkFormat,
    as_column,
    check_shape,
    find_list,
    first_few,
    image_table,
    read_mat,
    read_names,
    roles_from_unseen,
    warn_of_missing,
)


class SUN(BenchmarkFormat):
    """``SUNAttributeDB/*.mat`` and ``images/``: 717 scenes of 20 images, 102 attributes averaged per scene.

    A scene is the folder of its images (``a/abbey``, ``b/bakery/shop``): scenes are not told apart by their last name.

    root : the folder that holds SUNAttributeDB and images.
    unseen_list : file with the unseen scenes, one per line (the paper has ten). Without it no roles.
    """

    def __init__(self, *, root: str, unseen_list: str | None = None) -> None:
        super().__init__(root=root)
        self.unseen_list = unseen_list

    def read(self) -> Benchmark:
        """Read the three files; no image is opened."""
        files = self._read("images.mat", "images")
        attribute_names = self._read("attributes.mat", "attributes")
        votes = self._read("attributeLabels_continuous.mat", "labels_cv")
        source = str(self.root / "SUNAttributeDB/attributeLabels_continuous.mat")
        check_shape(votes, (len(files), len(attribute_names)), f"{source} (images x attributes)")

        scenes = [self._scene(file) for file in files]
        images = image_table(self.root / "images", list(files), scenes)
        averages = pd.DataFrame(votes).groupby(np.array(scenes, dtype=object), sort=False).mean()
        names = list(averages.index)
        classes = pd.DataFrame({"class_name": names, "text": [readable(name) for name in names]})
        classes["attributes"] = as_column(averages.to_numpy())
        if self.unseen_list is not None:
            path = find_list(self.root, self.unseen_list, "the unseen scenes")
            classes["role"] = roles_from_unseen(names, read_names(path, "unseen scenes"), path)
        warn_of_missing(images)
        return Benchmark(images, classes, tuple(str(name).strip() for name in attribute_names))

    def _read(self, file: str, key: str) -> Any:
        path = self.require(f"SUNAttributeDB/{file}", f"the variable {key}")
        value = read_mat(path, [key])[key]
        if value.size == 0 or (key != "labels_cv" and value.dtype != object):
            raise DataError(f"{path}: expected {key} to be a cell array of strings, got {value.dtype} {value.shape}")
        return value

    def _scene(self, file: str) -> str:
        scene = str(PurePosixPath(file).parent)
        if scene in (".", "/") or ".." in scene:
            where = self.root / "SUNAttributeDB/images.mat"
            raise DataError(f"{where}: expected paths like a/abbey/sun_x.jpg, got {first_few([file])}; {FETCH_AGAIN}")
        return scene


def readable(scene: str) -> str:
    """``b/bakery/shop`` as ``bakery shop``: the leading letter only sorts the folders."""
    shelf, _, rest = scene.partition("/")
    return (rest if len(shelf) == 1 and rest else scene).replace("/", " ").replace("_", " ")
