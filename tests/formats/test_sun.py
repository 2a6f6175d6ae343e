import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.sun import SUN, readable
from tests.helpers.layouts import SUN_FILES, write_sun
from tests.helpers.matlab import save_v73
from tests.helpers.trees import folder, quick, reference, refused, words, write


@st.composite
def trees(draw):
    scenes = draw(st.lists(st.lists(words, min_size=1, max_size=2).map("/".join), min_size=2, max_size=4, unique=True))
    scenes = [f"{scene[0]}/{scene}" for scene in scenes]
    counts = draw(st.lists(st.integers(1, 3), min_size=len(scenes), max_size=len(scenes)))
    files = [f"{scene}/sun_{i}.jpg" for scene, count in zip(scenes, counts, strict=True) for i in range(count)]
    names = draw(st.lists(words, min_size=1, max_size=4))
    votes = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, 4, (len(files), len(names))) / 3
    order = draw(st.permutations(range(len(files))))  # scenes need not be contiguous
    return [files[i] for i in order], names, votes


@quick
@given(trees(), st.sampled_from([scipy.io.savemat, save_v73]))
def test_reads_what_was_written(tree, save):
    files, names, votes = tree
    with folder() as root:
        write_sun(root, files, names, votes, save)
        unseen = files[0].rpartition("/")[0]
        write(root / "unseen.txt", unseen)
        data = SUN(root=str(root), unseen_list="unseen.txt").read()
    assert list(data.images["image_id"]) == files
    scenes = [file.rpartition("/")[0] for file in files]
    assert list(data.classes["class_name"]) == list(dict.fromkeys(scenes))
    for scene, vector, role in data.classes[["class_name", "attributes", "role"]].itertuples(index=False):
        mine = [i for i, other in enumerate(scenes) if other == scene]
        np.testing.assert_allclose(vector, votes[mine].mean(axis=0), atol=1e-6)
        assert role == ("unseen" if scene == unseen else "seen")
    assert data.attribute_names == tuple(names)


@pytest.fixture
def tree(tmp_path):
    write_sun(tmp_path, ["a/abbey/1.jpg", "b/bakery/shop/2.jpg"], ["sailing", "driving"], np.eye(2))
    return tmp_path


@pytest.mark.parametrize("file", SUN_FILES)
def test_a_missing_or_broken_file_is_named(tree, file):
    path = tree / "SUNAttributeDB" / file
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:-9], b"", b"not a mat file at all" * 20):
        path.write_bytes(broken)
        with refused(path):
            SUN(root=str(tree)).read()
    path.unlink()
    with refused(path, "README.md"):
        SUN(root=str(tree)).read()


def test_other_variables_and_shapes_are_refused(tree):
    path = tree / "SUNAttributeDB" / SUN_FILES[2]
    scipy.io.savemat(path, {"labels": np.eye(2)})
    with refused(path, "labels_cv"):
        SUN(root=str(tree)).read()
    scipy.io.savemat(path, {"labels_cv": np.eye(3)})
    with refused(path, "(2, 2)", "(3, 3)"):
        SUN(root=str(tree)).read()
    scipy.io.savemat(path, {"labels_cv": np.full((2, 2), np.nan)})
    with refused(path):
        SUN(root=str(tree)).read()
    scipy.io.savemat(tree / "SUNAttributeDB" / SUN_FILES[0], {"images": np.eye(2)})
    with refused("images.mat"):
        SUN(root=str(tree)).read()


def test_a_v73_struct_is_refused(tree):
    path = tree / "SUNAttributeDB" / SUN_FILES[0]
    with h5py.File(path, "w") as file:
        file.create_group("images")
    with refused(path):
        SUN(root=str(tree)).read()


def test_images_without_a_scene_are_refused(tree):
    write_sun(tree, ["abbey.jpg", "b/2.jpg"], ["sailing", "driving"], np.eye(2))
    with refused("images.mat", "abbey.jpg"):
        SUN(root=str(tree)).read()


def test_unknown_scenes_are_refused(tree):
    write(tree / "unseen.txt", "abbey\n")
    with refused("unseen.txt", "a/abbey"):
        SUN(root=str(tree), unseen_list="unseen.txt").read()


def test_readable():
    assert readable("b/bakery/shop") == "bakery shop"
    assert readable("a/art_school") == "art school"
    assert readable("a") == "a"


@pytest.mark.slow
def test_the_reference_data():
    data = SUN(root=str(reference("sun")), unseen_list="sun_paper").read()
    assert (len(data.images), len(data.classes), len(data.attribute_names)) == (14_340, 717, 102)
    assert (data.images["class_name"].value_counts() == 20).all()
    assert (data.classes["role"] == "unseen").sum() == 10
    # The community's file holds the same averages in another order.
    other = scipy.io.loadmat(reference("xlsa17", "SUN", "att_splits.mat"))["original_att"].T
    ours = np.stack(data.classes["attributes"])
    np.testing.assert_allclose(np.sort(ours.sum(axis=1)), np.sort(other.sum(axis=1)), rtol=1e-4)
