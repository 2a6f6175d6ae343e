"""spaCy's vectors, read without spaCy."""

import numpy as np
import pandas as pd
import pytest

from aezsl.encoders.texts.semantics import embed_classes, semantics_fingerprint
from aezsl.errors import DataError
from aezsl.formats.word_vectors import is_spacy_folder, read_int_map, read_spacy_vectors, vectors_place, word_hash


def packed(number):
    """A whole number as msgpack writes it."""
    if 0 <= number < 128:
        return bytes([number])
    if number < 0:
        return b"\xd3" + number.to_bytes(8, "big", signed=True)
    return b"\xcf" + number.to_bytes(8, "big") if number >= 2**32 else b"\xce" + number.to_bytes(4, "big")


def write_pipeline(folder, rows):
    """Words and the rows of the identity that they share."""
    vocab = folder / "pipeline" / "vocab"
    vocab.mkdir(parents=True)
    with (vocab / "vectors").open("wb") as file:
        np.save(file, np.eye(3, dtype=np.float32) * 2)
    entries = b"".join(packed(word_hash(word)) + packed(row) for word, row in rows.items())
    (vocab / "key2row").write_bytes(b"\xdf" + len(rows).to_bytes(4, "big") + entries)
    return folder


def test_the_hash_is_murmur_hash_64a_with_seed_1():
    """Values that spaCy's own documentation and string store give."""
    assert word_hash("coffee") == 3197928453018144401
    assert word_hash("apple") == 8566208034543834098
    assert word_hash("internationalisation") != word_hash("internationalization")


def test_numbers_of_every_width():
    data = b"\x83" + b"\x05\xcc\xc8" + b"\xcd\x01\x00\xd0\xfb" + b"\xcf" + (2**63).to_bytes(8, "big") + b"\xff"
    assert read_int_map(data) == {5: 200, 256: -5, 2**63: -1}
    for bad in (b"\x93\x01\x02\x03", b"\x81\x01\xa1a", b"\x81\x01\xcd\x01"):
        with pytest.raises(DataError):
            read_int_map(bad)


def test_classes_are_means_over_their_words_and_those_without_are_dropped(tmp_path):
    folder = write_pipeline(tmp_path / "package", {"dog": 0, "puppy": 1, "hound": 1, "lost": -1})
    assert is_spacy_folder(folder)
    found = read_spacy_vectors(folder, {"dog", "hound", "lost", "cat"})
    assert sorted(found) == ["dog", "hound"]
    classes = pd.DataFrame({"class_name": list("abc"), "text": ["Dog, puppy", "hound", "cat"]})
    source = {"kind": "word_vectors", "path": str(folder)}
    with pytest.raises(DataError, match="cat"):
        embed_classes(classes, [source])
    vectors = embed_classes(classes, [{**source, "missing": "drop"}])
    np.testing.assert_array_equal(vectors[:2], [[1, 1, 0], [0, 2, 0]])
    assert np.isnan(vectors[2]).all()
    before = semantics_fingerprint(classes, [source])
    write_pipeline(tmp_path / "other", {"dog": 2})
    (tmp_path / "other/pipeline/vocab/key2row").replace(folder / "pipeline/vocab/key2row")
    assert semantics_fingerprint(classes, [source]) != before


@pytest.mark.parametrize(
    "matrix", [np.ones(3, np.float32), np.ones((3, 2, 1)), np.array([["a"]]), np.full((3, 2), np.nan)]
)
def test_a_matrix_that_is_none_is_refused(tmp_path, matrix):
    folder = write_pipeline(tmp_path, {"dog": 0})
    with (tmp_path / "pipeline/vocab/vectors").open("wb") as file:
        np.save(file, matrix)
    with pytest.raises(DataError, match="vocab/vectors"):
        read_spacy_vectors(folder, {"dog"})


def test_a_row_that_the_matrix_does_not_have_is_refused(tmp_path):
    with pytest.raises(DataError, match="key2row"):
        read_spacy_vectors(write_pipeline(tmp_path, {"dog": 0, "cat": 3}), {"dog"})


def test_a_package_is_found_by_its_name(tmp_path, monkeypatch):
    write_pipeline(tmp_path / "words_of_mine", {"dog": 0})
    (tmp_path / "words_of_mine/__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert vectors_place("words_of_mine") == tmp_path / "words_of_mine"
    with pytest.raises(DataError):
        read_spacy_vectors(tmp_path / "nothing", {"dog"})
