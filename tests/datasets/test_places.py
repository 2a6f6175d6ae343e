"""The store of vectors and its content as catalog entries."""

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError

from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.datasets.places import SelectionsDataset, VectorsDataset, VectorStoreDataset
from aezsl.selection import SelectionStore


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


def test_stores_of_many_selections_are_files_of_a_folder(tmp_path):
    stores = SelectionsDataset(filepath=str(tmp_path), pattern="{}/selection.csv").load()
    table = pd.DataFrame({"point": [0], "mean": [0.5], "key": "abc"})
    stores.of("eszsl").save(table)
    assert SelectionStore(tmp_path / "eszsl" / "selection.csv").find("abc", 1).equals(table)
    assert stores.of("aezsl").find("abc", 1) is None
    cells = SelectionsDataset(filepath=str(tmp_path), pattern="{}.csv")
    assert cells.load().of("tzsar/all_of_64").path == tmp_path / "tzsar" / "all_of_64.csv"
    with pytest.raises(DatasetError):
        cells.save("anything")
