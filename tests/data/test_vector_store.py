from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.errors import DataError


def chunk(ids, value, fingerprint="net-a", digest="1"):
    vectors = np.full((len(ids), 4), value, dtype=np.float32)
    return VectorChunk(fingerprint, ids, [digest] * len(ids), vectors)


def put(store, part):
    """Add a chunk and let its vectors count."""
    store.add(part)
    store.use(VectorSet(part.fingerprint, {"backbone": part.fingerprint}))


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path / "features")


def test_chunks_add_up(store):
    put(store, chunk(["a", "b"], 1))
    put(store, chunk(["c"], 2))
    vectors = store.load()
    assert vectors.ids.tolist() == ["a", "b", "c"]
    assert vectors.matrix[:, 0].tolist() == [1, 1, 2]
    assert vectors.matrix.dtype == np.float32
    assert vectors.config == {"backbone": "net-a"}
    assert vectors.find(["c", "nobody", "a"]).tolist() == [2, -1, 0]


def test_a_vector_computed_again_replaces_the_old_one(store):
    put(store, chunk(["a", "b"], 1))
    put(store, chunk(["a"], 5, digest="2"))
    vectors = store.load()
    assert dict(zip(vectors.ids, vectors.matrix[:, 0], strict=True)) == {"a": 5, "b": 1}
    assert store.known("net-a") == {"a": "2", "b": "1"}


def test_streamed_vectors_are_the_loaded_ones(store, tmp_path):
    rng = np.random.default_rng(0)
    for ids in (["a", "b", "c"], ["d"], ["b", "e"]):  # b is computed again
        put(store, VectorChunk("net-a", ids, ["1"] * len(ids), rng.normal(size=(len(ids), 4)).astype(np.float32)))
    streamed = VectorStore(tmp_path / "features", streamed=True)
    there, loaded = streamed.load(), store.load()
    assert there.ids.tolist() == loaded.ids.tolist()
    wanted = ["e", "a", "b", "d", "c", "a"]
    np.testing.assert_array_equal(there.take(there.find(wanted)), loaded.take(loaded.find(wanted)))
    assert there.find(["nobody"]).tolist() == [-1]


def test_changing_the_backbone_and_back_keeps_both(store):
    put(store, chunk(["a"], 1))
    put(store, chunk(["a"], 9, fingerprint="net-b"))
    assert store.load().matrix[0, 0] == 9
    store.use(VectorSet("net-a"))
    assert store.load().matrix[0, 0] == 1


def test_half_written_files_are_never_read(store, tmp_path):
    put(store, chunk(["a"], 1))
    (tmp_path / "features" / "net-a" / ".000001.parquet.tmp").write_bytes(b"PAR1 half")
    assert store.load().ids.tolist() == ["a"]


def test_a_damaged_shard_is_named_set_aside_and_not_known_any_more(store, tmp_path, caplog):
    put(store, chunk(["a"], 1))
    put(store, chunk(["b"], 2))
    (tmp_path / "features" / "net-a" / "000000.parquet").write_bytes(b"not parquet")
    assert store.known("net-a") == {"a": "1", "b": "1"}
    assert "000000.parquet" in caplog.text
    assert store.load().ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_changed_number_in_a_shard_is_noticed(store, tmp_path, streamed):
    put(store, chunk(["a", "b"], 1.5))
    (path,) = (tmp_path / "features" / "net-a").glob("*.parquet")
    content = path.read_bytes()
    place = content.index(np.float32(1.5).tobytes())
    path.write_bytes(content[:place] + np.float32(2.5).tobytes() + content[place + 4 :])
    vectors = VectorStore(tmp_path / "features", streamed=streamed)
    with pytest.raises(DataError):
        vectors.load().take(np.arange(2))
    assert store.known("net-a") == {}


def test_an_empty_store_says_what_to_do(store):
    assert not store.exists()
    with pytest.raises(DataError):
        store.load()


def test_many_writers_lose_nothing(store):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.add(chunk([f"image {i}"], i)), range(100)))
    store.use(VectorSet("net-a"))
    vectors = store.load()
    assert {str(name): value for name, value in zip(vectors.ids, vectors.matrix[:, 0], strict=True)} == {
        f"image {i}": i for i in range(100)
    }


def test_files_that_are_no_shards_are_passed_over(store, tmp_path):
    put(store, chunk(["a"], 1))
    for name in ("copy of 1.parquet", "notes.txt", ".000001.parquet.half"):
        (tmp_path / "features" / "net-a" / name).write_bytes(b"anything")
    put(store, chunk(["b"], 2))
    assert sorted(store.load().ids) == ["a", "b"]


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"config": {}}', '{"fingerprint": 3, "config": {}}'])
def test_a_damaged_manifest_is_made_again(store, tmp_path, content):
    put(store, chunk(["a"], 1))
    (tmp_path / "features" / "manifest.json").write_text(content)
    with pytest.raises(DataError):
        store.load()
    put(store, chunk(["b"], 2))
    assert store.load().ids.tolist() == ["a", "b"]
