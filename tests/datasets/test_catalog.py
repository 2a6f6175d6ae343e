"""The adapters as Kedro sees them: made from a catalog entry, read-only, saying where they read."""

import pytest
from kedro.io import DataCatalog, DatasetError

from aezsl.formats import FORMATS
from tests.helpers import ROOT
from tests.helpers.trees import touch, write

ENTRIES = {
    "cub": {"unseen_list": "unseen.txt", "attributes": "shipped"},
    "sun": {"unseen_list": "unseen.txt"},
    "dogs": {"unseen_list": "unseen.txt", "breeds_list": "breeds.txt", "texts": "classes.tsv"},
    "imagenet": {"seen_list": "seen.txt", "words": "words.txt", "folders": {"train": "train"}},
    "awa2": {},
    "xlsa17": {"name": "CUB"},
    "folder": {},
    "webdataset": {"unseen_list": "unseen.txt"},
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_adapter_is_a_catalog_entry(kind, tmp_path):
    missing = tmp_path / "nothing here"
    entry = {"type": "aezsl.datasets.inputs.BenchmarkDataset", "format": kind, "root": str(missing), **ENTRIES[kind]}
    dataset = DataCatalog.from_config({"raw_benchmark": entry})["raw_benchmark"]
    assert str(missing) in str(dataset)
    assert not dataset.exists()
    with pytest.raises(DatasetError, match=str(missing)):
        dataset.load()
    with pytest.raises(DatasetError):
        dataset.save("anything")


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_adapter_says_what_to_download(kind):
    page = ROOT / "data" / "01_raw" / "README.md"
    assert f"`{FORMATS[kind]}`" in page.read_text(encoding="utf-8")


def test_a_catalog_loads_a_benchmark(tmp_path):
    write(tmp_path / "classes.csv", "class_name,role,description\ncat,seen,Purrs.\ndog,unseen,Barks.\n")
    touch(tmp_path, "images/cat/1.jpg")
    catalog = DataCatalog.from_config(
        {
            "raw_benchmark": {
                "type": "aezsl.datasets.inputs.BenchmarkDataset",
                "format": "folder",
                "root": str(tmp_path),
            }
        }
    )
    data = catalog.load("raw_benchmark")
    assert list(data.classes["class_name"]) == ["cat", "dog"]
    assert catalog["raw_benchmark"].exists()
