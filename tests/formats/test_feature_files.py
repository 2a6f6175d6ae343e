import numpy as np
import pandas as pd
import pytest

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


def test_what_does_not_fit_is_refused(tmp_path):
    np.savez(tmp_path / "short.npz", X=np.zeros((2, 2)))
    np.savez(tmp_path / "strangers.npz", X=np.zeros((3, 2)), image_id=np.array(["a", "b", "z"]))
    np.savez(tmp_path / "odd.npz", Z=np.zeros(3))
    for name, message in [
        ("short.npz", "2 rows and no image_id"),
        ("strangers.npz", "no row in .*for example 'c'"),
        ("odd.npz", "must hold one of"),
        ("nothing.npz", "no feature file at"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            imported(tmp_path / name)
    (tmp_path / "features.txt").write_text("")
    with pytest.raises(ValueError, match=r"expected \.npz, \.parquet or \.mat"):
        imported(tmp_path / "features.txt")
