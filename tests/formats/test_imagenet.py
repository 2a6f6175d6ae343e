import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import DataError
from aezsl.formats.imagenet import ImageNet
from tests.helpers.trees import folder, quick, reference, refused, touch, write


def load(root, **arguments):
    return ImageNet(root=str(root), **arguments).read()


def wnid(number):
    return f"n{number:08d}"


@st.composite
def trees(draw):
    """Images per class for some classes, and how many of the classes are seen."""
    numbers = draw(st.lists(st.integers(0, 10**8 - 1), min_size=3, max_size=6, unique=True))
    images = {wnid(number): draw(st.integers(1, 3)) for number in numbers}
    return images, draw(st.integers(1, len(images) - 2))


@quick
@given(trees(), st.booleans())
def test_reads_what_was_written(tree, by_list):
    images, n_seen = tree
    names = list(images)
    seen, unseen, outside = names[:n_seen], [*names[n_seen:-1], wnid(10**8 - 1)], names[-1]
    files = [f"{name}/{name}_{i}.JPEG" for name in sorted(names) for i in range(images[name])]
    with folder() as root:
        for file in files:
            touch(root, file)
        arguments = {"image_list": str(write(root / "files.txt", "\n".join(files) + "\n"))} if by_list else {}
        write(root / "seen.txt", "\n".join(seen))
        write(root / "unseen.txt", "\n".join(dict.fromkeys(n for n in unseen if n not in seen and n != outside)))
        write(root / "words.txt", "".join(f"{n}\tword {n}, another\n" for n in {*names, *unseen}))
        data = load(root, seen_list="seen.txt", unseen_list="unseen.txt", words="words.txt", **arguments)
        everything = load(root, **arguments)
        rest = load(root, unseen_list=str(write(root / "one.txt", outside)), **arguments)
        assert all(os.path.exists(path) for path in data.images["path"])
    assert list(everything.images["image_id"]) == files
    assert list(everything.images["class_name"]) == [file[:9] for file in files]
    assert "role" not in everything.classes
    listed = [n for n in dict.fromkeys([*seen, *unseen]) if n != outside]
    assert list(data.classes["class_name"]) == listed
    assert list(data.classes["role"]) == ["seen" if n in seen else "unseen" for n in listed]
    assert list(data.classes["text"]) == [f"word {n}, another" for n in listed]
    assert list(data.images["image_id"]) == [file for file in files if file[:9] != outside]
    assert dict(zip(rest.classes["class_name"], rest.classes["role"], strict=True)) == {
        n: "unseen" if n == outside else "seen" for n in names
    }


def test_folders_stand_for_official_parts(tmp_path):
    for file in ("train/n00000001/a.JPEG", "val/n00000001/a.JPEG", "other/n00000002/b.jpg", "extra/n00000001/c.JPEG"):
        touch(tmp_path, file)
    folders = {"train": "train", "val": "test_seen", "other": "test_unseen", "extra": None}
    data = load(tmp_path, folders=folders)
    assert list(data.images["image_id"]) == sorted(
        data.images["image_id"], key=lambda i: list(folders).index(i.split("/")[0])
    )
    assert list(data.images["official"].astype(object))[:3] == ["train", "test_seen", "test_unseen"]
    assert data.images["official"].isna().sum() == 1
    with refused("'test'"):
        load(tmp_path, folders={"val": "test"})
    with refused(tmp_path / "nowhere"):
        load(tmp_path, folders={"nowhere": "train"})
    alone = load(tmp_path, folders={"train": "train", "nowhere": "test_seen"})  # test images are optional
    assert list(alone.images["image_id"]) == ["train/n00000001/a.JPEG"]


@pytest.fixture
def tree(tmp_path):
    for number in (1, 2, 3):
        touch(tmp_path, f"{wnid(number)}/{wnid(number)}_1.JPEG")
    write(tmp_path / "seen.txt", f"{wnid(1)}\n{wnid(2)}\n")
    write(tmp_path / "unseen.txt", f"{wnid(3)}\n{wnid(4)}\n")
    write(tmp_path / "words.txt", "".join(f"{wnid(i)}\tword\n" for i in range(1, 5)))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text", "parts"),
    [
        ("seen.txt", f"{wnid(1)}\n{wnid(3)}\n", [wnid(3)]),
        ("seen.txt", f"{wnid(1)}\n{wnid(7)}\n", [wnid(7)]),
        ("seen.txt", f"{wnid(1)}\n{wnid(1)}\n", ["seen.txt"]),
        ("unseen.txt", "tench\n", ["unseen.txt", "tench"]),
        ("unseen.txt", "", ["unseen.txt"]),
        ("words.txt", f"{wnid(1)}\tword\n", ["words.txt"]),
        ("words.txt", f"{wnid(1)} word\n", ["words.txt", "line 1"]),
        ("files.txt", "n00000001.JPEG\n", ["files.txt"]),
        ("files.txt", "", ["files.txt"]),
        ("files.txt", f"{wnid(9)}/x.JPEG\n", []),
    ],
)
def test_wrong_contents_are_refused(tree, file, text, parts):
    write(tree / file, text)
    arguments = {"image_list": "files.txt"} if file == "files.txt" else {}
    with refused(*parts):
        load(tree, seen_list="seen.txt", unseen_list="unseen.txt", words="words.txt", **arguments)


def test_a_tree_without_wnids_is_refused(tmp_path):
    touch(tmp_path, "tench/1.JPEG")
    with refused(tmp_path, "n01440764"):
        load(tmp_path)
    with refused(tmp_path / "nowhere"):
        load(tmp_path / "nowhere")


def test_an_image_listed_twice_is_refused(tree):
    write(tree / "files.txt", f"{wnid(1)}/1.JPEG\n{wnid(1)}/1.JPEG\n")
    with refused():
        load(tree, image_list="files.txt")


INGEST = r"""
import re, sys
from pathlib import Path
from kedro.io import DataCatalog, MemoryDataset
from kedro.runner import SequentialRunner
from kedro_datasets.pandas import ParquetDataset
from aezsl.datasets.inputs import BenchmarkDataset
from aezsl.pipelines import ingestion
from aezsl.pipelines.ingestion.nodes import IngestionSettings, SplitSettings

root = Path(sys.argv[1])
catalog = DataCatalog(
    {name: ParquetDataset(filepath=str(root / f"{name}.parquet")) for name in ("images", "classes", "split")}
    | {
        "raw_benchmark": BenchmarkDataset(format="imagenet", root=str(root), image_list="files.txt"),
        "params:ingestion": MemoryDataset(IngestionSettings(groups=[], sources=[], complete=False)),
        "params:split": MemoryDataset(SplitSettings()),
    }
)
SequentialRunner().run(ingestion.create_pipeline(), catalog)
# Of this program alone: what the system counts as a process's largest size begins with that of its parent.
print(int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.slow
def test_a_million_images_are_ingested_within_two_gigabytes(tmp_path):
    """The whole of ingestion, from the list of files to the tables on disk, in a process of its own."""
    with (tmp_path / "files.txt").open("w") as lines:
        for c in range(1000):
            lines.writelines(f"n{c:08d}/n{c:08d}_{i}.JPEG\n" for i in range(1300))
    answer = subprocess.run(
        [sys.executable, "-c", INGEST, str(tmp_path)], check=True, capture_output=True, text=True, timeout=300
    )
    split = pq.read_table(tmp_path / "split.parquet", columns=["zsl"])["zsl"]
    assert {row["values"]: row["counts"] for row in split.value_counts().to_pylist()} == {
        "train": 1_040_000,
        "test": 260_000,
    }
    assert pq.read_metadata(tmp_path / "images.parquet").num_rows == 1_300_000
    assert pq.read_metadata(tmp_path / "classes.parquet").num_rows == 1000
    assert int(answer.stdout.split()[-1]) < 2048


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("2hop", 1549), ("3hop", 7860), ("all", 20_842)])
def test_the_reference_lists(tmp_path, name, count):
    """The real lists and words, with the images that the stored features are of."""
    stored = np.load(reference("imagenet", "features", "efficientnet_lite0.npz"))["wnid"]
    write(tmp_path / "files.txt", "\n".join(f"{w}/{w}_{i}.JPEG" for i, w in enumerate(stored)))
    lists = reference("imagenet")
    data = load(
        tmp_path,
        seen_list=str(lists / "seen_1k.txt"),
        unseen_list=str(lists / f"unseen_{name}.txt"),
        words=str(lists / "words_21k.tsv"),
        image_list="files.txt",
    )
    assert data.classes["role"].value_counts().to_dict() == {"seen": 1000, "unseen": count}
    if name == "all":
        assert len(data.images) == len(stored)


class TestStoredFeatures:
    def test_rows_are_images(self, tmp_path):
        np.savez(tmp_path / "f.npz", X=np.zeros((3, 2)), wnid=np.array(["n00000002", "n00000001", "n00000002"]))
        (tmp_path / "seen.txt").write_text("n00000002\n")
        (tmp_path / "unseen.txt").write_text("n00000001\nn00000003\n")
        lists = {"seen_list": "seen.txt", "unseen_list": "unseen.txt"}
        benchmark = ImageNet(root=str(tmp_path), features="f.npz", **lists).read()
        assert benchmark.images["image_id"].tolist() == ["n00000002/0000000", "n00000001/0000001", "n00000002/0000002"]
        assert benchmark.images["class_name"].tolist() == ["n00000002", "n00000001", "n00000002"]
        assert benchmark.classes["role"].tolist() == ["seen", "unseen", "unseen"]

    def test_wnids_must_be_there(self, tmp_path):
        np.savez(tmp_path / "f.npz", X=np.zeros((3, 2)))
        with pytest.raises(DataError, match="wnid"):
            ImageNet(root=str(tmp_path), features="f.npz").read()
