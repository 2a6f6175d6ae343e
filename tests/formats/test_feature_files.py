import os
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aezsl.errors import DataError
from aezsl.formats.feature_files import import_features

IMAGES = pd.DataFrame({"image_id": ["a", "b", "c"], "path": ["", "", ""], "class_name": ["x", "x", "y"]})


class Store:
    """Remembers what is added."""

    def __init__(self, known):
        self.values, self._known = {}, known

    def known(self, fingerprint):
        return dict.fromkeys(self._known, "")

    def add(self, chunk):
        self.values |= dict(zip(chunk.ids, chunk.vectors[:, 0].tolist(), strict=True))


def imported(path, images=IMAGES, known=()):
    store = Store(known)
    assert import_features(images, str(path), store).fingerprint.startswith("file-")
    return store.values


def test_rows_are_found_by_id_or_by_order(tmp_path):
    X = np.arange(6, dtype=np.float16).reshape(3, 2)
    np.savez(tmp_path / "named.npz", X=X, image_id=np.array(["c", "a", "b"]))
    np.savez(tmp_path / "plain.npz", X=X)
    assert imported(tmp_path / "named.npz") == {"a": 2, "b": 4, "c": 0}
    assert imported(tmp_path / "plain.npz") == {"a": 0, "b": 2, "c": 4}
    assert imported(tmp_path / "plain.npz", known=["a"]) == {"b": 2, "c": 4}


def test_parquet_is_read(tmp_path):
    table = pd.DataFrame({"image_id": ["b", "a", "c"], "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    table.to_parquet(tmp_path / "features.parquet")
    assert imported(tmp_path / "features.parquet") == {"a": 3, "b": 1, "c": 5}


GOOD = {"X": np.ones((3, 2)), "image_id": np.array(["a", "b", "c"])}


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"X": np.zeros((2, 2))}, "2 rows and no image_id"),
        (GOOD | {"image_id": np.array(["a", "b", "z"])}, "1 of 3 images have no row in .*for example 'c'"),
        (GOOD | {"image_id": np.array(["a", "b", "b"])}, "more than one row for b"),
        (GOOD | {"image_id": np.array(["a", "b"])}, "image_id"),
        (GOOD | {"image_id": np.array([["a", "b", "c"]])}, "image_id"),
        (GOOD | {"image_id": np.array([0.5, 1, 2])}, "0.5"),
        (GOOD | {"X": np.ones(3)}, "X"),
        (GOOD | {"X": np.ones((3, 2, 1, 1))}, "X"),
        (GOOD | {"X": np.ones((3, 0))}, "X"),
        (GOOD | {"X": np.array([["1"] * 2] * 3)}, "<U1"),
        (GOOD | {"X": np.ones((3, 2), dtype=complex)}, "complex"),
        (GOOD | {"X": np.ones((3, 2), dtype="M8[s]")}, "datetime"),
        (GOOD | {"X": np.array([[1, 2], [np.nan, 1], [1, 1]])}, "'b'"),
        (GOOD | {"X": np.array([[1, 2], [1, 1], [1, 1e300]])}, "'c'"),
        ({"Z": np.zeros(3)}, "X, features, vectors"),
        (GOOD | {"features": np.zeros((3, 2))}, "X, features, vectors"),
        (GOOD | {"files": np.array(["c", "b", "a"])}, "image_id.*files"),
        (GOOD | {"X": np.full((3, 2), 1e-60)}, "'a'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, named):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=named) as caught:
        imported(tmp_path / "x.npz")
    assert "x.npz" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"image_id": list("abc"), "vector": [[1.0, 1.0, 1.0], [2.0], [3.0, 3.0]]}, "'b'"),
        ({"image_id": list("abc"), "vector": [[1.0, 1.0], None, [1.0] * 4]}, "'b'"),
        ({"image_id": list("abc"), "vector": [[1.0], [None], [1.0]]}, "'b'"),
        ({"image_id": list("abc"), "vector": [[], [], []]}, "vector"),
        ({"image_id": list("abc"), "vector": [["x"]] * 3}, "vector"),
        ({"image_id": list("abc"), "vector": [1.0, 2.0, 3.0]}, "vector"),
        ({"image_id": list("aab"), "vector": [[1.0]] * 3}, r"\ba\b"),
        ({"image_id": ["a", None, "c"], "vector": [[1.0]] * 3}, "None"),
        ({"id": list("abc"), "vector": [[1.0]] * 3}, "image_id"),
        ({"image_id": list("abc"), "features": [[1.0]] * 3}, "vector"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, columns, named):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=named) as caught:
        imported(tmp_path / "x.parquet")
    assert "x.parquet" in str(caught.value)


@pytest.mark.parametrize("suffix", ["npz", "parquet", "mat"])
def test_damaged_files_are_refused_by_name(tmp_path, suffix):
    file = tmp_path / f"x.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"image_id": list("abc"), "vector": [[1.0]] * 3}), file)
    else:
        np.savez(tmp_path / "x.npz", **GOOD)
    whole = (tmp_path / "x.npz").read_bytes() if suffix == "mat" else file.read_bytes()
    for content in (b"", whole[:30], whole[: len(whole) // 2], whole[:-5], b"hello"):
        file.write_bytes(content)
        with pytest.raises(DataError, match=rf"x\.{suffix}"):
            imported(file)


def test_a_header_that_claims_too_much_is_refused(tmp_path):
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        file.writestr("X.npy", buffer.getvalue())
    with pytest.raises(DataError, match=r"x\.npz"):
        imported(tmp_path / "x.npz")


def test_what_is_not_there_is_named(tmp_path):
    for path in (None, "", tmp_path / "nothing.npz"):
        with pytest.raises(DataError, match=r"feature_extraction\.path"):
            imported(path) if path else import_features(IMAGES, path, Store(()))
    (tmp_path / "features.txt").write_text("")
    with pytest.raises(DataError, match=r"features\.txt"):
        imported(tmp_path / "features.txt")


def test_another_file_of_the_same_size_and_time_is_another_set(tmp_path):
    found = set()
    for value in (1.0, 2.0):
        np.savez(tmp_path / "x.npz", **GOOD | {"X": np.full((3, 2), value)})
        os.utime(tmp_path / "x.npz", ns=(1, 1))
        found.add(import_features(IMAGES, str(tmp_path / "x.npz"), Store(())).fingerprint)
    assert len(found) == 2
