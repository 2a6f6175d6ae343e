import zipfile

import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.formats.npz import load_npz, save_npz


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.npz"
    save_npz(path, {"version": 1, "kind": "a"}, {"W": np.arange(6.0).reshape(2, 3)})
    return path


def test_what_was_saved_is_loaded(saved):
    header, arrays = load_npz(saved, "a model", 1, ("kind",))
    assert header["kind"] == "a"
    np.testing.assert_array_equal(arrays["W"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("name", ["extra.npy", "W.npy", "note.txt"])
def test_members_that_hide_gigabytes_are_not_read(saved, name):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(name, b"\0" * 50_000_000, zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 1_000_000
    with pytest.raises(DataError, match=saved.name):
        load_npz(saved, "a model", 1, ("kind",))


def test_a_whole_archive_that_is_compressed_is_not_read(tmp_path):
    path = tmp_path / "model.npz"
    np.savez_compressed(path, header=np.array("{}"), W=np.zeros(1_000_000))
    with pytest.raises(DataError, match=path.name):
        load_npz(path, "a model", 1, ())
