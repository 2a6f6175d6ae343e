"""The adapters as Kedro sees them: made from a catalog entry, read-only, saying where they read."""

from pathlib import Path

import pytest
from kedro.io import DataCatalog

from tests.datasets.helpers import refused, touch, write

ENTRIES = {
    "cub.CUBDataset": {"unseen_list": "unseen.txt", "attributes": "shipped"},
    "sun.SUNDataset": {"unseen_list": "unseen.txt"},
    "dogs.DogsDataset": {"unseen_list": "unseen.txt", "breeds_list": "breeds.txt", "texts": "classes.tsv"},
    "imagenet.ImageNetDataset": {"seen_list": "seen.txt", "words": "words.txt", "folders": {"train": "train"}},
    "awa2.AWA2Dataset": {},
    "xlsa17.Xlsa17Dataset": {"name": "CUB"},
    "folder.FolderDataset": {},
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_adapter_is_a_catalog_entry(kind, tmp_path):
    missing = tmp_path / "nothing here"
    entry = {"type": f"aezsl.datasets.{kind}", "root": str(missing), **ENTRIES[kind]}
    dataset = DataCatalog.from_config({"raw_benchmark": entry})["raw_benchmark"]
    assert str(missing) in str(dataset)
    assert not dataset.exists()
    with refused(missing):
        dataset.load()
    with refused("read-only"):
        dataset.save("anything")


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_adapter_says_what_to_download(kind):
    page = Path(__file__).parents[2] / "data" / "01_raw" / "README.md"
    assert f"`{kind.split('.')[1]}`" in page.read_text(encoding="utf-8")


def test_a_catalog_loads_a_benchmark(tmp_path):
    write(tmp_path / "classes.csv", "class_name,role,description\ncat,seen,Purrs.\ndog,unseen,Barks.\n")
    touch(tmp_path, "images/cat/1.jpg")
    catalog = DataCatalog.from_config(
        {"raw_benchmark": {"type": "aezsl.datasets.folder.FolderDataset", "root": str(tmp_path)}}
    )
    data = catalog.load("raw_benchmark")
    assert list(data.classes["class_name"]) == ["cat", "dog"]
    assert catalog["raw_benchmark"].exists()
