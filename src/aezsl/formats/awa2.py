"""Animals with Attributes 2 in its official layout."""

import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError
from aezsl.formats.image_folders import ImageFolders
from aezsl.formats.names import duplicates
from aezsl.formats.reading import (
    FETCH_AGAIN,
    BenchmarkFormat,
    as_column,
    check_known,
    find_list,
    first_few,
    image_table,
    read_matrix,
    read_names,
    read_numbered,
    roles_from_unseen,
)


class AWA2(BenchmarkFormat):
    """``Animals_with_Attributes2``: 50 animals, 85 attributes per class, 40 seen and 10 unseen classes.

    root : the folder that holds classes.txt and JPEGImages.
    unseen_list : file with other unseen classes than testclasses.txt names (the proposed split has other ten).

    The attributes are the strengths of predicate-matrix-continuous.txt as they stand: 0 to 100, and -1 where the
    psychologists' tables had no value, which published results leave in.
    """

    def __init__(self, *, root: str, unseen_list: str | None = None) -> None:
        super().__init__(root=root)
        self.unseen_list = unseen_list

    def read(self) -> Benchmark:
        """Read the tables and list the image folders; no image is opened."""
        names = read_numbered(self.require("classes.txt", "the class names"), "the class names")
        if repeated := duplicates(names):
            raise DataError(f"{self.root / 'classes.txt'} names {first_few(repeated)} more than once; {FETCH_AGAIN}")
        predicates = read_numbered(self.require("predicates.txt", "the attribute names"), "the attribute names")
        matrix_path = self.require("predicate-matrix-continuous.txt", "attribute strengths per class")
        matrix = read_matrix(matrix_path, (len(names), len(predicates)), "classes x attributes")
        classes = pd.DataFrame({"class_name": names, "text": [name.replace("+", " ") for name in names]})
        classes["role"] = self._roles(names)
        classes["attributes"] = as_column(matrix)
        return Benchmark(self._images(names), classes, tuple(predicates))

    def _roles(self, names: list[str]) -> list[str]:
        if self.unseen_list is not None:
            path = find_list(self.root, self.unseen_list, "the unseen classes")
            return roles_from_unseen(names, read_names(path, "unseen classes"), path)
        train = self.require("trainclasses.txt", "the seen classes")
        test = self.require("testclasses.txt", "the unseen classes")
        seen, unseen = read_names(train, "seen classes"), read_names(test, "unseen classes")
        check_known(seen, names, train)
        if both := set(seen) & set(unseen):
            raise DataError(f"{train} and {test} both name {first_few(sorted(both))}")
        if lost := set(names) - set(seen) - set(unseen):
            raise DataError(f"neither {train} nor {test} names {first_few(sorted(lost))}; {FETCH_AGAIN}")
        return roles_from_unseen(names, unseen, test)

    def _images(self, names: list[str]) -> pd.DataFrame:
        folder = self.require("JPEGImages", "one folder of images per class")
        listing = ImageFolders(folder)
        present = set(listing.folders(folder))
        if missing := [name for name in names if name not in present]:
            raise DataError(f"{folder} has no folder for {first_few(missing)}; {FETCH_AGAIN}")
        files, labels = [], []
        for name in names:
            found = listing.images(folder / name, name)
            if not found:
                raise DataError(f"{folder / name} has no image; {FETCH_AGAIN}")
            files += [f"{name}/{file}" for file in found]
            labels += [name] * len(found)
        listing.log_rest()
        return image_table(folder, files, labels)
