import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.cub import CUB, N_ATTRIBUTES, readable
from tests.helpers.layouts import CUB_LABELS, CUB_SHIPPED, CUB_TABLES, CubFiles
from tests.helpers.trees import cut, drop_line, folder, quick, reference, refused, words, write


@st.composite
def trees(draw):
    names = [f"{i:03d}.{name}" for i, name in enumerate(draw(st.lists(words, min_size=2, max_size=4)), start=1)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.concatenate([np.arange(len(names)), rng.integers(0, len(names), draw(st.integers(0, 4)))])
    n = len(labels)
    present = rng.integers(0, 2, (n, N_ATTRIBUTES))
    return CubFiles(names, labels, rng.integers(0, 2, n), present, rng.uniform(0, 100, (len(names), N_ATTRIBUTES)))


@quick
@given(trees(), st.booleans())
def test_reads_what_was_written(tree, malformed):
    with folder() as root:
        tree.write(root, extra_columns={1} if malformed else ())
        data = CUB(root=str(root), unseen_list="unseen.txt", official_split=True).read()
        shipped = CUB(root=str(root), attributes="shipped").read()
        assert all(path.startswith(str(root / "images")) for path in data.images["path"])
    assert list(data.classes["class_name"]) == tree.names
    assert list(data.images["class_name"]) == [tree.names[label] for label in tree.labels]
    means = [tree.present[tree.labels == c].mean(axis=0) for c in range(len(tree.names))]
    np.testing.assert_allclose(np.stack(data.classes["attributes"]), means, atol=1e-6)
    np.testing.assert_allclose(np.stack(shipped.classes["attributes"]), tree.shipped / 100, atol=1e-6)
    assert np.stack(data.classes["attributes"]).dtype == np.float32
    assert len(data.attribute_names) == N_ATTRIBUTES
    assert data.attribute_names[1] == "has_1::x y"
    assert list(data.classes["role"]) == ["unseen"] + ["seen"] * (len(tree.names) - 1)
    expected = np.where(tree.labels == 0, "test_unseen", np.where(tree.training == 1, "train", "test_seen"))
    assert list(data.images["official"]) == expected.tolist()
    assert "role" not in shipped.classes
    assert "official" not in shipped.images


@quick
@given(trees(), st.sampled_from([*CUB_TABLES, CUB_LABELS]), st.sampled_from([cut, drop_line]), st.floats(0, 1))
def test_a_truncated_file_is_named(tree, relative, damage, fraction):
    with folder() as root:
        tree.write(root)
        damage(root / relative, fraction)
        # Losing the last entry shows in the file that is then longer, whose error names both.
        with refused(".txt", relative.split("/")[-1]):
            CUB(root=str(root), unseen_list="unseen.txt", official_split=True).read()


@pytest.fixture
def tree(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([0, 1, 2, 2])
    present = rng.integers(0, 2, (4, N_ATTRIBUTES))
    made = CubFiles(["001.A", "002.B", "003.C"], labels, np.ones(4, int), present, np.ones((3, N_ATTRIBUTES)))
    made.write(tmp_path)
    return tmp_path


@pytest.mark.parametrize("relative", ["classes.txt", "images.txt", "image_class_labels.txt", CUB_LABELS])
def test_a_missing_file_is_named(tree, relative):
    (tree / relative).unlink()
    with refused(tree / relative, "README.md"):
        CUB(root=str(tree)).read()


def test_without_image_attributes_the_percentages_are_offered(tree):
    (tree / CUB_LABELS).unlink()
    with refused("shipped"):
        CUB(root=str(tree)).read()


@pytest.mark.parametrize(
    ("relative", "text", "parts"),
    [
        ("classes.txt", "0 001.A\n1 002.B\n2 003.C\n", []),
        ("image_class_labels.txt", "1 0\n2 1\n3 2\n4 2\n", ["1..3"]),
        ("image_class_labels.txt", "1 1\n2 1\n3 2\n4 2\n", []),
        ("image_class_labels.txt", "1 1\n2 x\n3 2\n4 3\n", ["image_class_labels.txt"]),
        ("image_class_labels.txt", "1 2\n2 1\n3 3\n4 3\n", ["001.A/0.jpg", "'002.B'"]),
        ("images.txt", "\x00\x01\n", ["images.txt"]),
        ("unseen.txt", "001.a\n", ["001.A"]),
        ("unseen.txt", "001.A\n001.A\n", []),
        ("unseen.txt", "001.A\n002.B\n003.C\n", []),
        ("unseen.txt", "", []),
        (CUB_LABELS, "1 1 2 3 1.0\n", ["is_present"]),
        (CUB_LABELS, "0 1 1 3 1.0\n", []),
        (CUB_LABELS, "1 313 1 3 1.0\n", ["1..312"]),
        (CUB_LABELS, "1 1\n", ["image_attribute_labels.txt"]),
        (CUB_LABELS, "one bird\n", ["image_attribute_labels.txt"]),
        ("attributes.txt", "1 a\n", ["312"]),
    ],
)
def test_wrong_contents_are_refused(tree, relative, text, parts):
    write(tree / relative, text)
    with refused(tree, *parts):
        CUB(root=str(tree), unseen_list="unseen.txt").read()


def test_shipped_percentages_of_another_shape_are_refused(tree):
    np.savetxt(tree / CUB_SHIPPED, np.ones((2, N_ATTRIBUTES)))
    with refused(CUB_SHIPPED, "(3, 312)", "(2, 312)"):
        CUB(root=str(tree), attributes="shipped").read()


def test_bad_arguments_are_refused(tree):
    with refused("shipped"):
        CUB(root=str(tree), attributes="continuous")
    with refused("unseen_list"):
        CUB(root=str(tree), official_split=True)
    with refused("nowhere.txt"):
        CUB(root=str(tree), unseen_list="nowhere.txt").read()


def test_readable():
    assert readable("001.Black_footed_Albatross") == "Black footed Albatross"
    assert readable("St.Bernard") == "St.Bernard"


@pytest.mark.slow
def test_the_reference_data():
    root = reference("cub", "CUB_200_2011")
    data = CUB(root=str(root), attributes="shipped", unseen_list="cub_standard").read()
    assert (len(data.images), len(data.classes)) == (11_788, 200)
    assert (data.classes["role"] == "unseen").sum() == 50
    # The community's file holds the same vectors, scaled to unit length, under the same names.
    other = scipy.io.loadmat(reference("xlsa17", "CUB", "att_splits.mat"))
    ours = dict(zip(data.classes["class_name"], data.classes["attributes"], strict=True))
    for cell, column in zip(other["allclasses_names"].ravel(), other["att"].T, strict=True):
        vector = ours[str(cell.item())]
        np.testing.assert_allclose(vector / np.linalg.norm(vector), column, atol=1e-5)
