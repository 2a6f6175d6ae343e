import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.dogs import Dogs
from tests.helpers.layouts import write_dogs
from tests.helpers.matlab import cells
from tests.helpers.trees import folder, quick, reference, refused, words, write


@st.composite
def breeds(draw):
    numbers = draw(st.lists(st.integers(0, 10**8 - 1), min_size=3, max_size=5, unique=True))
    return sorted(f"n{number:08d}-{draw(words)}" for number in numbers)


@quick
@given(breeds(), st.booleans())
def test_reads_what_was_written(names, by_wnid):
    with folder() as root:
        write_dogs(root, names)
        kept = names[1:]
        write(root / "breeds.txt", "\n".join(name[:9] if by_wnid else name for name in kept))
        write(root / "unseen.txt", kept[0][:9] if by_wnid else kept[0])
        data = Dogs(root=str(root), breeds_list="breeds.txt", unseen_list="unseen.txt").read()
        everything = Dogs(root=str(root)).read()
        assert all((root / "Images" / image).exists() for image in data.images["image_id"])
    assert list(data.classes["class_name"]) == kept
    assert list(data.classes["wnid"]) == [name[:9] for name in kept]
    assert list(data.classes["role"]) == ["unseen"] + ["seen"] * (len(kept) - 1)
    assert list(data.classes["text"]) == [f"lemma {name}: definition of {name}" for name in kept]
    assert list(everything.classes["class_name"]) == names
    assert list(everything.images["class_name"]) == [name for name in names for _ in range(2)]
    assert "role" not in everything.classes


@quick
@given(breeds(), st.sampled_from(["list.txt", "file_list.mat"]))
def test_a_list_stands_for_the_images(names, file):
    paths = [f"{name}/{name[:9]}_{i}.jpg" for name in names for i in range(2)]
    with folder() as root:
        if file.endswith("mat"):
            scipy.io.savemat(root / file, {"file_list": cells(paths)})
        else:
            write(root / file, "\n".join(paths))
        data = Dogs(root=str(root), image_list=file).read()
    assert list(data.images["image_id"]) == paths
    assert list(data.classes["text"]) == [name[10:].replace("_", " ") for name in names]


@pytest.fixture
def tree(tmp_path):
    write_dogs(tmp_path, ["n02085620-Chihuahua", "n02110627-affenpinscher", "n02100583-vizsla"])
    return tmp_path


def load(root, **arguments):
    return Dogs(root=str(root), **arguments).read()


def test_texts_from_a_folder_or_wordnet(tree):
    for name in ("n02085620", "n02110627-affenpinscher", "n02100583"):
        write(tree / f"articles/{name}.txt", f"All about\n{name}.\n")
    texts = list(load(tree, texts="articles").classes["text"])
    assert texts == ["All about n02085620.", "All about n02100583.", "All about n02110627-affenpinscher."]
    nouns = [f'{w} 05 n 01 breed_{w} 0 000 | a dog; "bark"\n' for w in ("02085620", "02110627", "02100583")]
    write(tree / "data.noun", "".join(nouns))
    assert load(tree, texts="data.noun").classes["text"][0] == "breed 02085620: a dog"
    (tree / "articles/n02085620.txt").unlink()
    with refused("articles", "n02085620-Chihuahua"):
        load(tree, texts="articles")


@pytest.mark.parametrize(
    ("file", "text", "arguments", "parts"),
    [
        ("u.txt", "n02085620-Chihuaha", {"unseen_list": "u.txt"}, ["u.txt", "n02085620-Chihuahua"]),
        ("u.txt", "n00000000", {"breeds_list": "u.txt"}, ["u.txt", "n00000000"]),
        ("u.txt", "x.jpg", {"image_list": "u.txt"}, ["u.txt"]),
        ("classes.tsv", "folder\twnid\nx\ty\n", {}, ["classes.tsv"]),
        ("classes.tsv", "folder\ttext\nx\ty\n", {}, ["classes.tsv"]),
        ("classes.tsv", "", {}, ["classes.tsv"]),
        ("u.tsv", "a\tb\n1\t2\t3\n1\t2\t3\t4\n", {"texts": "u.tsv"}, ["u.tsv"]),
        ("u.mat", "nothing", {"image_list": "u.mat"}, ["u.mat"]),
    ],
)
def test_wrong_contents_are_refused(tree, file, text, arguments, parts):
    write(tree / file, text)
    with refused(tree, *parts):
        load(tree, **arguments)


def test_missing_images_are_refused(tree):
    for image in (tree / "Images/n02085620-Chihuahua").iterdir():
        image.unlink()
    with refused("Images", "n02085620-Chihuahua"):
        load(tree)
    (tree / "Images").rename(tree / "images_")
    with refused(tree / "Images", "README.md"):
        load(tree)
    (tree / "Images/Chihuahua").mkdir(parents=True)
    with refused(tree / "Images", "n02085620-Chihuahua"):
        load(tree)


@pytest.mark.slow
def test_the_reference_data(tmp_path):
    root = reference("dogs")
    sample = Dogs(root=str(root)).read()
    assert (len(sample.images), len(sample.classes)) == (30, 6)
    files = np.load(reference("dogs", "features", "efficientnet_lite0.npz"))["files"]
    listed = write(tmp_path / "files.txt", "\n".join(files))
    data = Dogs(root=str(root), image_list=str(listed)).read()
    assert (len(data.images), len(data.classes)) == (20_580, 120)
    assert list(data.images["image_id"]) == files.tolist()
    assert data.classes["text"].str.len().min() > 20
