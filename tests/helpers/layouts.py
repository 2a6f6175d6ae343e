"""Benchmarks as their authors lay them out, small and made up."""

import csv
from dataclasses import dataclass

import numpy as np
import scipy.io

from aezsl.formats.cub import N_ATTRIBUTES
from tests.helpers.matlab import cells
from tests.helpers.trees import numbered, touch, write

AWA2_FILES = ("classes.txt", "predicates.txt", "predicate-matrix-continuous.txt", "trainclasses.txt", "testclasses.txt")


def write_awa2(root, names, n_unseen, matrix, images_each=2):
    write(root / "classes.txt", "".join(f"{i:8d}\t{name}\n" for i, name in enumerate(names, start=1)))
    write(root / "predicates.txt", "".join(f"{i:8d}\tis{i}\n" for i in range(1, matrix.shape[1] + 1)))
    np.savetxt(root / "predicate-matrix-continuous.txt", matrix, fmt="%8.2f")
    write(root / "testclasses.txt", "\n".join(names[:n_unseen]) + "\n")
    write(root / "trainclasses.txt", "\n".join(names[n_unseen:]) + "\n")
    for name in names:
        for i in range(images_each):
            touch(root, f"JPEGImages/{name}/{name}_{10001 + i}.jpg")


CUB_TABLES = ("classes.txt", "images.txt", "image_class_labels.txt", "train_test_split.txt")
CUB_LABELS = "attributes/image_attribute_labels.txt"
CUB_SHIPPED = "attributes/class_attribute_labels_continuous.txt"


@dataclass
class CubFiles:
    names: list
    labels: np.ndarray
    training: np.ndarray
    present: np.ndarray  # (n, 312)
    shipped: np.ndarray  # (C, 312) percentages

    def write(self, root, extra_columns=()):
        files = [f"{self.names[label]}/{i}.jpg" for i, label in enumerate(self.labels)]
        for table, values in zip(CUB_TABLES, (self.names, files, self.labels + 1, self.training), strict=True):
            write(root / table, numbered(values))
        rows = [
            f"{i + 1} {a + 1} {value} 3 {'0 0 ' if i in extra_columns else ''}1.5\n"
            for i, image in enumerate(self.present)
            for a, value in enumerate(image)
        ]
        write(root / CUB_LABELS, "".join(rows))
        np.savetxt(root / CUB_SHIPPED, self.shipped, fmt="%.6f")
        write(root / "attributes.txt", numbered(f"has_{a}::x y" for a in range(N_ATTRIBUTES)))
        write(root / "unseen.txt", self.names[0] + "\n\n")


def write_dogs(root, names, each=2):
    for name in names:
        for i in range(each):
            touch(root, f"Images/{name}/{name[:9]}_{i}.jpg")
    rows = [f"{name}\t{name[:9]}\tlemma {name}\tdefinition of {name}" for name in names]
    write(root / "classes.tsv", "\n".join(["folder\twnid\tlemmas\tdefinition", *rows]) + "\n")


FOLDER_SUFFIXES = ("jpg", "JPG", "jpeg", "png", "webp", "bmp")


def write_folder(root, columns, counts, unlabelled=0, separator=",", encoding="utf-8"):
    with (root / "classes.csv").open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    for name, count in zip(columns["class_name"], counts, strict=True):
        for i in range(count):
            touch(root, f"images/{name}/{i}.{FOLDER_SUFFIXES[i]}")
    for i in range(unlabelled):
        touch(root, f"images/_unlabelled/{i}.png")


SUN_FILES = ("images.mat", "attributes.mat", "attributeLabels_continuous.mat")


def write_sun(root, files, names, votes, save=scipy.io.savemat):
    base = root / "SUNAttributeDB"
    base.mkdir(exist_ok=True)
    as_cells = cells if save is scipy.io.savemat else list
    for file, key, value in zip(
        SUN_FILES, ("images", "attributes", "labels_cv"), (as_cells(files), as_cells(names), votes), strict=True
    ):
        save(base / file, {key: value})


@dataclass
class Xlsa17Files:
    """What goes into the two files, with labels and lists counted from 0."""

    names: list
    attributes: np.ndarray  # (C, a)
    labels: np.ndarray
    features: np.ndarray  # (n, d)
    split: dict

    def write(self, root, save=scipy.io.savemat, first=1, **changes):
        as_cells = cells if save is scipy.io.savemat else list
        files = [f"/authors/machine/{i // 2}.jpg" for i in range(len(self.labels))]  # APY has objects, not images
        res101 = {
            "features": self.features.T,
            "labels": self.labels[:, None] + first,
            "image_files": as_cells(files),
        }
        splits = {"allclasses_names": as_cells(self.names), "att": self.attributes.T, "original_att": self.attributes.T}
        splits |= {key: np.asarray(value, dtype=np.uint16)[:, None] + first for key, value in self.split.items()}
        for content in (res101, splits):
            content.update({key: changes[key] for key in content.keys() & changes.keys()})
        folder = root / "TOY"
        folder.mkdir(exist_ok=True)
        save(folder / "res101.mat", res101)
        save(folder / "att_splits.mat", splits)
        return folder
