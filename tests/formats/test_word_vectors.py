import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.word_vectors import read_vectors
from tests.helpers.trees import folder, quick, reference, refused, words, write


def glove(path, names, matrix):
    write(
        path, "".join(f"{name} {' '.join(map(repr, row.tolist()))}\n" for name, row in zip(names, matrix, strict=True))
    )


def word2vec(path, names, matrix):
    glove(path, names, matrix)
    path.write_text(f"{len(names)} {matrix.shape[1]}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def zipped(path, names, matrix):
    word2vec(path, names, matrix)
    path.write_bytes(gzip.compress(path.read_bytes()))


def binary(path, names, matrix):
    rows = (f"{name} ".encode() + row.tobytes() + b"\n" for name, row in zip(names, matrix, strict=True))
    path.write_bytes(f"{len(names)} {matrix.shape[1]}\n".encode() + b"".join(rows))


def npz(path, names, matrix):
    np.savez(path, wnid=np.array(names), vectors=matrix)


def parquet(path, names, matrix):
    pd.DataFrame({"name": names, "vector": list(matrix)}).to_parquet(path)


WRITERS = {"v.txt": glove, "v.vec": word2vec, "v.txt.gz": zipped, "v.bin": binary, "v.npz": npz, "v.parquet": parquet}


@st.composite
def tables(draw):
    names = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return names, rng.normal(size=(len(names), draw(st.integers(2, 5)))).astype(np.float32)


@quick
@given(tables(), st.sampled_from(list(WRITERS)), st.data())
def test_reads_what_was_written(table, file, data):
    names, matrix = table
    wanted = data.draw(st.sets(st.sampled_from(names)))
    with folder() as root:
        WRITERS[file](root / file, names, matrix)
        everything, some = read_vectors(root / file), read_vectors(root / file, {*wanted, "not there"})
    assert list(everything) == names
    np.testing.assert_array_equal(np.stack(list(everything.values())), matrix)
    assert set(some) == wanted
    for name in wanted:
        np.testing.assert_array_equal(some[name], matrix[names.index(name)])
        assert some[name].dtype == np.float32


@quick
@given(tables(), st.sampled_from(["v.vec", "v.txt.gz", "v.bin", "v.npz", "v.parquet"]), st.floats(0, 0.5))
def test_a_truncated_file_is_refused(table, file, fraction):
    names, matrix = table
    with folder() as root:
        path = root / file
        WRITERS[file](path, names, matrix)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(fraction * len(whole))])  # more than the end of the last number of a text
        with refused(path):
            read_vectors(path)


def test_names_with_spaces_and_repeated_names(tmp_path):
    path = write(tmp_path / "v.txt", "a 1 2\n. . . 3 4\na 5 6\n\n")
    assert {name: vector.tolist() for name, vector in read_vectors(path).items()} == {"a": [1, 2], ". . .": [3, 4]}


def test_reading_stops_at_the_last_wanted_name(tmp_path):
    path = write(tmp_path / "v.txt", "a 1 2\nb 3 4\nbroken\n")
    assert set(read_vectors(path, {"a", "b"})) == {"a", "b"}
    with refused(path, "vector 3"):
        read_vectors(path)
    assert read_vectors(path, ()) == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("alone\n", []),
        ("a 1 2\nb 3\n", ["vector 2"]),
        ("a 1 2\nb 3 x\n", ["vector 2", "x"]),
        ("a 1 nan\n", []),
        ("3 2\na 1 2\nb 3 4\n", ["3", "2"]),
    ],
)
def test_wrong_text_is_refused(tmp_path, text, parts):
    with refused(tmp_path / "v.txt", *parts):
        read_vectors(write(tmp_path / "v.txt", text))


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    for text in ("the 1 2\nfox 3 4\n", "2 2\nthe 1 2\nfox 3 4\n"):
        (tmp_path / "v.txt").write_text(text, encoding="utf-8-sig")
        assert read_vectors(tmp_path / "v.txt", ["the"])["the"].tolist() == [1, 2]


def test_a_name_with_spaces_may_come_first_and_a_number_too_many_is_no_part_of_a_name(tmp_path):
    path = write(tmp_path / "v.txt", "new york 1 2\nfox 3 4\nboeing 737 5 6\nboeing 7 8\n")
    found = read_vectors(path, ["new york", "boeing", "boeing 737"])
    assert {name: vector.tolist() for name, vector in found.items()} == {
        "new york": [1, 2],
        "boeing 737": [5, 6],
        "boeing": [7, 8],
    }
    write(path, "a 1 2\nnew york 3 4 5\n")
    with refused(path, "new york"):
        read_vectors(path, ["new york"])


@pytest.mark.parametrize("name", ["v.txt.gz", "v.bin.gz", "v.bin"])
def test_damage_behind_the_last_wanted_word_is_noticed(tmp_path, name):
    content = b"a 1 2\nb 3 4\n" if "txt" in name else b"2 1\na \0\0\0\0\nb \0\0\0\0\n"
    (tmp_path / name).write_bytes(gzip.compress(content)[:-4] + b"damg" if name.endswith("gz") else content + b"more")
    with refused(tmp_path / name):
        read_vectors(tmp_path / name, ["a"] if name.endswith("gz") else None)


def test_other_arrays_and_columns_are_refused(tmp_path):
    np.savez(tmp_path / "v.npz", X=np.eye(2), names=np.array(["a", "b"]))
    with refused("v.npz", "vectors", "X, names"):
        read_vectors(tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", vectors=np.eye(3), names=np.array(["a", "b"]))
    with refused("v.npz", "(3, 3)"):
        read_vectors(tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", vectors=np.eye(2), names=np.array(["a", "b"], dtype=object))
    with refused("v.npz"):
        read_vectors(tmp_path / "v.npz")
    pd.DataFrame({"word": ["a"], "vector": [[1.0]]}).to_parquet(tmp_path / "v.parquet")
    with refused("v.parquet", "name"):
        read_vectors(tmp_path / "v.parquet")
    pd.DataFrame({"name": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}).to_parquet(tmp_path / "v.parquet")
    with refused("v.parquet"):
        read_vectors(tmp_path / "v.parquet")
    with refused("nowhere.txt"):
        read_vectors(tmp_path / "nowhere.txt")


@pytest.mark.slow
def test_the_reference_data():
    path = reference("imagenet", "class_vectors_minilm.npz")
    seen = reference("imagenet", "seen_1k.txt").read_text().split()
    assert len(read_vectors(path)) == 21_842
    found = read_vectors(path, seen)
    assert set(found) == set(seen)
    np.testing.assert_allclose([np.linalg.norm(v) for v in found.values()], 1, atol=0.01)
