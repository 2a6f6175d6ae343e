import shutil

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.xlsa17 import PARTS, Xlsa17, read_classes, read_features, read_split
from tests.helpers.layouts import Xlsa17Files
from tests.helpers.matlab import cells, save_v73
from tests.helpers.trees import folder, quick, reference, refused, words

SAVES = {"v5": scipy.io.savemat, "v7.3": save_v73}
SPLIT_KEYS = ("trainval_loc", "test_seen_loc", "test_unseen_loc", "train_loc", "val_loc")


@st.composite
def contents(draw):
    n_seen, n_unseen = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    count = n_seen + n_unseen
    names = draw(st.lists(words, min_size=count, max_size=count, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(np.repeat(np.arange(count), 3))
    of_unseen = labels >= n_seen
    test_seen = ~of_unseen & (rng.uniform(size=len(labels)) < 0.2)
    for c in range(n_seen):
        test_seen[np.flatnonzero(labels == c)[0]] = False
    trainval = np.flatnonzero(~of_unseen & ~test_seen)
    split = {
        "trainval_loc": rng.permutation(trainval),
        "test_seen_loc": np.flatnonzero(test_seen),
        "test_unseen_loc": np.flatnonzero(of_unseen),
    }
    if draw(st.booleans()):
        split |= {"train_loc": trainval[labels[trainval] > 0], "val_loc": trainval[labels[trainval] == 0]}
    return Xlsa17Files(names, rng.uniform(size=(count, 4)), labels, rng.normal(size=(len(labels), 5)), split)


@quick
@given(contents(), st.sampled_from(list(SAVES)))
def test_reads_what_was_written(files, version):
    with folder() as root:
        at = files.write(root, SAVES[version])
        data = Xlsa17(root=str(root), name="TOY").read()
        ids, features = read_features(at / "res101.mat")
        split = read_split(at / "att_splits.mat", len(files.labels))
    assert list(data.images["image_id"]) == ids
    np.testing.assert_allclose(features, files.features, rtol=1e-6)
    assert features.dtype == np.float32
    assert list(data.images["class_name"]) == [files.names[label] for label in files.labels]
    assert list(data.classes["class_name"]) == files.names
    np.testing.assert_allclose(np.stack(data.classes["attributes"]), files.attributes, rtol=1e-6)
    official = data.images["official"].to_numpy()
    for key, part in (("trainval_loc", "train"), ("test_seen_loc", "test_seen"), ("test_unseen_loc", "test_unseen")):
        assert set(np.flatnonzero(official == part)) == set(files.split[key])
    for key in SPLIT_KEYS:
        assert (key in split) == (key in files.split)
        if key in split:
            np.testing.assert_array_equal(split[key], files.split[key])
    unseen = {files.names[c] for c in files.labels[files.split["test_unseen_loc"]]}
    assert set(data.classes["class_name"][data.classes["role"] == "unseen"]) == unseen


@quick
@given(contents(), st.sampled_from(list(SAVES)), st.data())
def test_broken_bytes_are_refused_or_harmless(files, version, data):
    """Truncated anywhere: an error of ours that names the file, never a library's."""
    with folder() as root:
        at = files.write(root, SAVES[version])
        path = at / data.draw(st.sampled_from(["res101.mat", "att_splits.mat"]))
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) * 9 // 10))])
        with refused(path):
            Xlsa17(root=str(root), name="TOY").read()
            read_features(at / "res101.mat")


@pytest.fixture
def files():
    rng = np.random.default_rng(0)
    labels = np.array([0, 0, 1, 1, 2, 2])
    split = {"trainval_loc": [0, 2, 3], "test_seen_loc": [1], "test_unseen_loc": [4, 5]}
    return Xlsa17Files(["a", "b", "c"], rng.uniform(size=(3, 4)), labels, rng.normal(size=(6, 5)), split)


def load(root):
    return Xlsa17(root=str(root), name="TOY").read()


def test_indices_left_0_based_are_refused(files, tmp_path):
    files.write(tmp_path, first=0)
    with refused("labels", "1..3"):
        load(tmp_path)
    files.write(tmp_path, trainval_loc=np.array([[0], [2]]))
    with refused("trainval_loc", "1..6"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"test_seen_loc": np.array([[7]])}, ["test_seen_loc", "1..6", "7"]),
        ({"test_seen_loc": np.array([[1.5]])}, ["test_seen_loc"]),
        ({"test_seen_loc": np.array([[1]])}, []),
        ({"test_seen_loc": np.array([[5]]), "test_unseen_loc": np.array([[6]])}, ["test_seen_loc"]),
        ({"test_unseen_loc": np.array([[2]]), "test_seen_loc": np.array([[4]])}, ["trainval_loc", "test_unseen_loc"]),
        ({"trainval_loc": np.array([[1]]), "test_seen_loc": np.array([[2]])}, []),
        ({"test_unseen_loc": np.zeros((0, 1))}, ["test_unseen_loc"]),
        ({"att": np.ones((4, 2))}, ["att", "(4, 2)"]),
        ({"att": np.full((4, 3), np.nan)}, ["att"]),
        ({"allclasses_names": cells(["a", "b", "a"])}, ["allclasses_names"]),
        ({"allclasses_names": np.arange(3)}, ["allclasses_names"]),
        ({"labels": np.array([[1], [2]])}, ["image_files"]),
        ({"labels": np.array([[1], [1], [2], [2], [3], [4]])}, ["labels", "1..3"]),
    ],
)
def test_wrong_contents_are_refused(files, tmp_path, changes, parts):
    files.write(tmp_path, **changes)
    with refused(".mat", *parts):
        load(tmp_path)


def test_missing_keys_and_files_are_named(files, tmp_path):
    at = files.write(tmp_path)
    with refused("CUB", "TOY"):
        Xlsa17(root=str(tmp_path), name="CUB").read()
    content = {k: v for k, v in scipy.io.loadmat(at / "att_splits.mat").items() if k[0] != "_"}
    del content["test_seen_loc"]
    scipy.io.savemat(at / "att_splits.mat", content)
    with refused(at / "att_splits.mat", "test_seen_loc", "trainval_loc"):
        load(tmp_path)
    (at / "res101.mat").unlink()
    with refused(at / "res101.mat"):
        load(tmp_path)
    with refused(at / "res101.mat", "features"):
        read_features(at / "res101.mat")


def test_validation_images_must_be_training_images(files, tmp_path):
    files.split |= {"train_loc": [0], "val_loc": [4]}
    files.write(tmp_path)
    with refused("val_loc", "trainval_loc"):
        load(tmp_path)


def test_transposed_features_are_refused(files, tmp_path):
    at = files.write(tmp_path, features=files.features)
    with refused("res101.mat", "(6, 5)"):
        read_features(at / "res101.mat")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "shape", "n_unseen"),
    [
        ("CUB", 11_788, (200, 312), 2967),
        ("SUN", 14_340, (717, 102), 1440),
        ("AWA2", 37_322, (50, 85), 7913),
        ("APY", 15_339, (32, 64), 7924),
    ],
)
def test_the_reference_data(name, n, shape, n_unseen):
    path = reference("xlsa17", name, "att_splits.mat")
    names, matrix = read_classes(path)
    assert (len(names), matrix.shape) == (shape[0], shape)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    split = read_split(path, n)
    assert len(split["test_unseen_loc"]) == n_unseen
    assert sum(len(split[key]) for key in SPLIT_KEYS[:3]) == n


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CUB", "SUN", "AWA1", "AWA2", "APY", "FLO"])
def test_the_reader_takes_real_splits(name, tmp_path):
    """With labels that suit the split: which class an image is of stands in the file of features, which is large."""
    path = reference("xlsa17", name, "att_splits.mat")
    content = scipy.io.loadmat(path, variable_names=["allclasses_names", *SPLIT_KEYS[:3]])
    n_classes = content["allclasses_names"].size
    parts = {key: content[key].ravel() - 1 for key in SPLIT_KEYS[:3]}
    n, n_unseen = sum(map(len, parts.values())), n_classes // 4
    labels = np.arange(n) % (n_classes - n_unseen)
    unseen = parts["test_unseen_loc"]
    labels[unseen] = n_classes - n_unseen + np.arange(len(unseen)) % n_unseen
    (tmp_path / name).mkdir()
    shutil.copy(path, tmp_path / name)
    files = np.array([f"{i}.jpg" for i in range(n)], dtype=object)[:, None]
    features = np.zeros((2, n), dtype=np.float32)
    made = {"features": features, "labels": labels[:, None] + 1.0, "image_files": files}
    scipy.io.savemat(tmp_path / name / "res101.mat", made)
    data = Xlsa17(root=str(tmp_path), name=name).read()
    assert data.classes["role"].eq("unseen").sum() == n_unseen
    for key, part in PARTS.items():
        np.testing.assert_array_equal(np.flatnonzero(data.images["official"] == part), np.sort(parts[key]))
    ids, matrix = read_features(tmp_path / name / "res101.mat")
    assert ids == data.images["image_id"].tolist()
    assert matrix.shape == (n, 2)
