"""The store of vectors and its content as catalog entries."""

import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.datasets.places import VectorsDataset, VectorStoreDataset


def test_catalog_entries_give_the_store_and_its_vectors(tmp_path):
    folder = tmp_path / "features"
    entry = VectorStoreDataset(filepath=str(folder))
    assert entry.load().known("net-a") == {}
    with pytest.raises(DatasetError):
        entry.save("anything")
    vectors = VectorsDataset(filepath=str(folder / "manifest.json"))
    assert not vectors.exists()
    ids = list("abcdefgh")
    entry.load().add(VectorChunk("net-a", ids, ["1"] * len(ids), np.ones((len(ids), 4), dtype=np.float32)))
    vectors.save(VectorSet("net-a", {"backbone": "net-a"}))
    assert vectors.load().ids.tolist() == ids
    assert len(vectors.preview()["data"]) == 5
    streamed = VectorsDataset(filepath=str(folder / "manifest.json"), streamed=True)
    assert streamed.preview(2)["data"] == vectors.preview(2)["data"]
    vectors.save(VectorSet("net-b", {}))
    with pytest.raises(DatasetError):
        vectors.load()
