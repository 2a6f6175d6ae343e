import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.datasets.vector_store import VectorCacheDataset, VectorStoreDataset
from aezsl.vectors import VectorChunk


def chunk(ids, value, fingerprint="net-a", digest="1"):
    vectors = np.full((len(ids), 4), value, dtype=np.float32)
    return VectorChunk(fingerprint, {"backbone": fingerprint}, ids, [digest] * len(ids), vectors)


@pytest.fixture
def store(tmp_path):
    return VectorStoreDataset(filepath=str(tmp_path / "features"))


def test_chunks_add_up(store):
    store.save(chunk(["a", "b"], 1))
    store.save(chunk(["c"], 2))
    vectors = store.load()
    assert vectors.ids.tolist() == ["a", "b", "c"]
    assert vectors.matrix[:, 0].tolist() == [1, 1, 2]
    assert vectors.matrix.dtype == np.float32
    assert vectors.config == {"backbone": "net-a"}
    assert vectors.rows(["c", "nobody", "a"]).tolist() == [2, -1, 0]


def test_a_vector_computed_anew_replaces_the_old_one(store):
    store.save(chunk(["a", "b"], 1))
    store.save(chunk(["a"], 5, digest="2"))
    vectors = store.load()
    assert dict(zip(vectors.ids, vectors.matrix[:, 0], strict=True)) == {"a": 5, "b": 1}
    assert store.known("net-a") == {"a": "2", "b": "1"}


def test_streamed_vectors_are_the_loaded_ones(store, tmp_path):
    rng = np.random.default_rng(0)
    for ids in (["a", "b", "c"], ["d"], ["b", "e"]):  # b is computed anew
        store.save(VectorChunk("net-a", {}, ids, ["1"] * len(ids), rng.normal(size=(len(ids), 4)).astype(np.float32)))
    streamed = VectorStoreDataset(filepath=str(tmp_path / "features"), streamed=True)
    there, loaded = streamed.load(), store.load()
    assert there.ids.tolist() == loaded.ids.tolist()
    wanted = ["e", "a", "b", "d", "c", "a"]
    np.testing.assert_array_equal(there.take(there.rows(wanted)), loaded.take(loaded.rows(wanted)))
    assert there.rows(["nobody"]).tolist() == [-1]
    assert streamed.preview(2)["data"] == store.preview(2)["data"]


def test_changing_the_backbone_and_back_keeps_both(store):
    store.save(chunk(["a"], 1))
    store.save(chunk(["a"], 9, fingerprint="net-b"))
    assert store.load().matrix[0, 0] == 9
    store.save(VectorChunk.empty("net-a", {"backbone": "net-a"}))
    assert store.load().matrix[0, 0] == 1


def test_half_written_files_are_never_read(store, tmp_path):
    store.save(chunk(["a"], 1))
    (tmp_path / "features" / "net-a" / ".000001.parquet.tmp").write_bytes(b"PAR1 half")
    assert store.load().ids.tolist() == ["a"]


def test_a_damaged_shard_is_named(store, tmp_path):
    store.save(chunk(["a"], 1))
    (tmp_path / "features" / "net-a" / "000000.parquet").write_bytes(b"not parquet")
    with pytest.raises(DatasetError, match=r"000000\.parquet cannot be read"):
        store.load()


def test_an_empty_store_says_what_to_do(store):
    assert not store.exists()
    with pytest.raises(DatasetError, match="run the pipeline that computes them first"):
        store.load()


def test_cache_is_the_same_folder_read_only(store, tmp_path):
    cache = VectorCacheDataset(filepath=str(tmp_path / "features"))
    assert cache.load().known("net-a") == {}
    store.save(chunk(["a"], 1))
    assert cache.load().known("net-a") == {"a": "1"}
    with pytest.raises(DatasetError, match="only read"):
        cache.save(chunk(["b"], 1))


def test_preview_shows_the_first_rows(store):
    store.save(chunk(list("abcdefgh"), 1))
    assert len(store.preview()["data"]) == 5
