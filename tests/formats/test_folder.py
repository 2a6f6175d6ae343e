import os
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.class_table import TEXT_COLUMNS
from aezsl.formats.folder import Folder
from aezsl.formats.names import folder_of
from tests.helpers.layouts import write_folder
from tests.helpers.trees import folder, quick, refused, touch, words, write

#: What people write: commas, quotes, semicolons, line breaks.
prose = st.text(st.sampled_from("abc ,;\"\n'é."), min_size=1, max_size=20).map(lambda text: f"A {text}b.")


def load(root):
    return Folder(root=str(root)).read()


@st.composite
def tables(draw):
    names = draw(st.lists(words, min_size=2, max_size=5, unique_by=str.lower))
    n_seen = draw(st.integers(1, len(names) - 1))
    columns = {"class_name": names, "role": ["seen"] * n_seen + ["unseen"] * (len(names) - n_seen)}
    with_text = draw(st.booleans())
    if with_text:
        column = draw(st.sampled_from(TEXT_COLUMNS))
        columns[column] = draw(st.lists(prose, min_size=len(names), max_size=len(names), unique_by=str.strip))
    meant = words.filter(lambda word: word not in columns and any(map(str.isalnum, word)))  # a name, not a sign
    attributes = draw(st.lists(meant, max_size=3, unique=True))
    if not with_text:
        attributes = attributes or ["big"]
    numbers = st.floats(-1e3, 1e3, width=32)
    for attribute in attributes:
        columns[attribute] = draw(st.lists(numbers, min_size=len(names), max_size=len(names)))
    counts = [draw(st.integers(1 if i < n_seen else 0, 3)) for i in range(len(names))]
    return columns, counts, attributes, draw(st.integers(0, 2))


@quick
@given(tables(), st.sampled_from([(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-8")]))
def test_reads_what_was_written(table, style):
    columns, counts, attributes, unlabelled = table
    with folder() as root:
        write_folder(root, columns, counts, unlabelled, *style)
        data = load(root)
        assert all((root / image).exists() for image in data.images["image_id"])
    names = columns["class_name"]
    assert list(data.classes["class_name"]) == names
    assert list(data.classes["role"]) == columns["role"]
    labels = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    assert list(data.images["class_name"].dropna()) == labels
    assert data.images["class_name"].isna().sum() == unlabelled
    text = columns.get("description", columns.get("text"))
    assert ("text" in data.classes) == (text is not None)
    if text is not None:
        assert list(data.classes["text"]) == text
    assert data.attribute_names == tuple(attributes)
    if attributes:
        expected = np.array([columns[a] for a in attributes], dtype=np.float32).T
        np.testing.assert_allclose(np.stack(data.classes["attributes"]), expected, rtol=1e-6)


HEADER = "class_name,role,description\n"


def test_missing_images_are_refused(tree):
    (tree / "images").rename(tree / "pictures")
    with refused(tree / "images"):
        load(tree)
    (tree / "images").mkdir()
    with refused():
        load(tree)
    (tree / "classes.csv").unlink()
    with refused(tree / "classes.csv"):
        load(tree)


def test_what_is_not_read_is_counted_and_named(tree, caplog):
    rest = {
        "hidden files": ["images/cat/.hidden.jpg"],
        "files .heic": ["images/cat/1.heic", "images/cat/2.HEIC"],
        "hidden folders": ["images/.cache/x.jpg", "images/cat/.thumbs/x.jpg"],
        "files .txt": ["images/readme.txt"],
        "images beside the folders": ["images/loose.png"],
        "folders beside images": ["test/1.jpg"],
        "files without a suffix": ["notes"],
    }
    for files in rest.values():
        for file in files:
            touch(tree, file)
    os.mkfifo(tree / "images/cat/pipe.jpg")
    with caplog.at_level("WARNING"):
        assert list(load(tree).images["image_id"]) == ["images/cat/0.jpg"]
    for kind, files in {**rest, "links to nothing, pipes or devices": ["images/cat/pipe.jpg"]}.items():
        line = next(line for line in caplog.messages if f"not read are {kind}:" in line)
        assert f"({len(files)} in all)" in line
        assert ("pip install pillow-heif" in line) == (kind == "files .heic")


def test_links_in_a_circle_are_passed_over(tree, caplog):
    for one, other in (("a.jpg", "b.jpg"), ("b.jpg", "a.jpg"), ("self", "self")):
        (tree / "images/cat" / one).symlink_to(other)
    assert list(load(tree).images["image_id"]) == ["images/cat/0.jpg"]
    assert "images/cat/a.jpg, images/cat/b.jpg, images/cat/self" in caplog.text


def test_gif_and_tif_are_images(tree):
    for file in ("images/cat/1.gif", "images/cat/2.TIF", "images/cat/3.tiff"):
        touch(tree, file)
    assert len(load(tree).images) == 4


def test_a_class_may_begin_with_a_dot(tree):
    write(tree / "classes.csv", HEADER + "cat,seen,x\n.net,unseen,y\n")
    touch(tree, "images/.net/1.jpg")
    assert list(load(tree).images["class_name"]) == ["cat", ".net"]


@pytest.mark.parametrize("place", ["images/_unlabelled", "images/_unlabeled", "unlabelled", "unlabeled", "_Unlabeled"])
def test_unlabelled_is_understood_in_either_spelling(tree, place):
    touch(tree, f"{place}/1.jpg")
    assert load(tree).images["class_name"].isna().tolist() == [False, True]


def test_folders_that_differ_by_normal_form_are_one_class(tmp_path):
    columns = {"class_name": ["café", "dog"], "role": ["seen", "unseen"], "big": [0, 1]}
    write_folder(tmp_path, columns, [0, 0])
    for form, count in (("NFC", 2), ("NFD", 3)):
        for i in range(count):
            touch(tmp_path, f"images/{unicodedata.normalize(form, 'café')}/{i}.jpg")
    images = load(tmp_path).images
    assert list(images["class_name"]) == ["café"] * 5
    assert images["image_id"].is_unique


@pytest.mark.parametrize("name", [b"images/cat/caf\xe9.jpg", b"images/caf\xe9/1.jpg"])
def test_names_that_are_not_text_are_refused(tree, name):
    touch(tree, os.fsdecode(name))
    with refused("udce9"):
        load(tree)


def test_names_are_compared_by_letter_not_by_byte(tmp_path):
    """A folder copied from a Mac spells é as e plus accent."""
    columns = {"class_name": ["bébé", "dog"], "role": ["seen", "unseen"], "big": [0, 1]}
    write_folder(tmp_path, columns, [0, 0])
    touch(tmp_path, f"images/{unicodedata.normalize('NFD', 'bébé')}/1.jpg")
    data = load(tmp_path)
    assert list(data.images["class_name"]) == ["bébé"]


def test_images_beside_the_classes_have_no_class(tree):
    touch(tree, "unlabelled/1.png")
    data = load(tree)
    assert list(data.images["image_id"]) == ["images/cat/0.jpg", "unlabelled/1.png"]
    assert data.images["class_name"].isna().tolist() == [False, True]


def test_folders_below_that_of_a_class_hold_more_of_its_images(tmp_path):
    write_folder(
        tmp_path, {"class_name": ["cat", "dog"], "role": ["seen", "unseen"], "description": ["a", "b"]}, [1, 0], 0
    )
    for file in ("images/cat/2024/may/1.jpg", "images/_unlabelled/trip/2.jpg", "images/cat/.hidden/3.jpg"):
        touch(tmp_path, file)
    images = load(tmp_path).images.set_index("image_id")["class_name"]
    assert images["images/cat/2024/may/1.jpg"] == "cat"
    assert images.isna().to_dict()["images/_unlabelled/trip/2.jpg"]
    assert len(images) == 3


def test_a_link_out_of_a_class_brings_no_images_of_other_classes(tree):
    before = load(tree).images
    (tree / "images/cat/loop").symlink_to(tree)
    assert load(tree).images.equals(before)


def test_what_links_bring_again_is_read_once_where_it_lies(tree, caplog):
    touch(tree, "images/cat/z/1.jpg")
    (tree / "images/cat/a").symlink_to(tree / "images/cat/z")
    (tree / "images/cat/again.jpg").symlink_to(tree / "images/cat/0.jpg")
    (tree / "images/_unlabelled").symlink_to(tree / "images/cat")
    assert list(load(tree).images["image_id"]) == ["images/cat/0.jpg", "images/cat/z/1.jpg"]
    listed = "images/_unlabelled, images/cat/a, images/cat/again.jpg"
    assert listed in caplog.text


@pytest.mark.parametrize(
    ("link", "to"), [("bee", "images/cat"), ("cat/sub", "images/bee"), ("bee/x.jpg", "images/cat/0.jpg")]
)
def test_no_image_is_of_two_classes(tree, link, to):
    write(tree / "classes.csv", "class_name,role,description\ncat,seen,a cat\nbee,unseen,a bee\n")
    if link != "bee":
        touch(tree, "images/bee/1.jpg")
    (tree / "images" / link).symlink_to(tree / to)
    with refused("'cat'", "'bee'"):
        load(tree)


def test_names_and_headers_may_be_of_any_script_and_long(tmp_path):
    names = ["तोता", unicodedata.normalize("NFD", "café"), "鳥" * 90, "dog"]
    columns = {"class_name": names, "role": ["seen", "seen", "seen", "unseen"], "🪶": [0, 1, 0, 1], "ऊँचा": [3, 1, 0, 1]}
    write_folder(tmp_path, columns, [0, 0, 0, 0])
    own = [unicodedata.normalize("NFC", name) for name in names]
    for name in own[:3]:
        touch(tmp_path, f"images/{folder_of(name)}/1.jpg")
    data = load(tmp_path)
    assert list(data.images["class_name"]) == own[:3]
    assert data.attribute_names == ("🪶", "ऊँचा")
