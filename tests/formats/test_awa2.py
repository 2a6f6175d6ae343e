import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.awa2 import AWA2
from tests.helpers.layouts import AWA2_FILES, write_awa2
from tests.helpers.trees import cut, folder, quick, refused, touch, words, write


@st.composite
def trees(draw):
    names = draw(st.lists(words, min_size=3, max_size=5, unique_by=str.lower))
    shape = (len(names), draw(st.integers(2, 4)))
    matrix = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).uniform(-1, 100, shape).round(2)
    return names, draw(st.integers(1, len(names) - 2)), matrix


@quick
@given(trees())
def test_reads_what_was_written(tree):
    names, n_unseen, matrix = tree
    with folder() as root:
        write_awa2(root, names, n_unseen, matrix)
        touch(root, f"JPEGImages/{names[0]}/Thumbs.db")
        data = AWA2(root=str(root)).read()
        write(root / "other.txt", names[-1])
        other = AWA2(root=str(root), unseen_list="other.txt").read()
    assert list(data.classes["class_name"]) == names
    assert list(data.classes["role"]) == ["unseen"] * n_unseen + ["seen"] * (len(names) - n_unseen)
    assert list(other.classes["role"]) == ["seen"] * (len(names) - 1) + ["unseen"]
    np.testing.assert_allclose(np.stack(data.classes["attributes"]), matrix, atol=1e-4)
    assert list(data.images["class_name"]) == [name for name in names for _ in range(2)]
    assert len(data.attribute_names) == matrix.shape[1]


@quick
@given(trees(), st.sampled_from(AWA2_FILES), st.floats(0, 1))
def test_a_truncated_file_is_refused(tree, file, fraction):
    with folder() as root:
        write_awa2(root, *tree)
        cut(root / file, fraction)
        with refused(root, ".txt"):
            AWA2(root=str(root)).read()


@pytest.fixture
def tree(tmp_path):
    write_awa2(tmp_path, ["antelope", "grizzly+bear", "killer+whale"], 1, np.ones((3, 2)))
    return tmp_path


@pytest.mark.parametrize("file", [*AWA2_FILES, "JPEGImages"])
def test_a_missing_file_is_named(tree, file):
    (tree / file).rename(tree / "renamed")
    with refused(tree / file, "README.md"):
        AWA2(root=str(tree)).read()


@pytest.mark.parametrize(
    ("file", "text", "parts"),
    [
        ("testclasses.txt", "antelope\ngrizzly+bear\n", ["trainclasses.txt", "grizzly+bear"]),
        ("testclasses.txt", "antilope\n", ["antelope"]),
        ("trainclasses.txt", "grizzly+bear\nkiller+wale\n", ["killer+whale"]),
        ("classes.txt", "1 antelope\n2 antelope\n3 killer+whale\n", ["antelope"]),
        ("predicate-matrix-continuous.txt", "1 2\n3 4\n", ["(3, 2)", "(2, 2)"]),
        ("predicate-matrix-continuous.txt", "1 2\n3 four\n", []),
    ],
)
def test_wrong_contents_are_refused(tree, file, text, parts):
    write(tree / file, text)
    with refused(tree, *parts):
        AWA2(root=str(tree)).read()


def test_missing_images_are_refused(tree):
    for image in (tree / "JPEGImages/antelope").iterdir():
        image.unlink()
    with refused("JPEGImages/antelope"):
        AWA2(root=str(tree)).read()
    (tree / "JPEGImages/antelope").rmdir()
    with refused("antelope"):
        AWA2(root=str(tree)).read()


def test_text_is_readable(tree):
    assert list(AWA2(root=str(tree)).read().classes["text"]) == ["antelope", "grizzly bear", "killer whale"]
