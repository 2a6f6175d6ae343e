import os

import numpy as np
import pandas as pd
import pytest

from aezsl.encoders.texts.fingerprints import with_fingerprints
from aezsl.encoders.texts.semantics import embed_classes, resolve_sources, semantics_fingerprint
from aezsl.errors import DataError

CLASSES = pd.DataFrame(
    {
        "class_name": ["cat", "polar_bear", "dog"],
        "text": ["cat feline", "polar_bear", "dog"],
        "attributes": [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]],
    }
)


@pytest.fixture
def vector_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("5 2\ncat 1 0\nfeline 3 0\npolar 0 2\nbear 0 4\ndog 5 5\n")
    return str(path)


def test_attributes_are_taken_as_they_are():
    np.testing.assert_array_equal(embed_classes(CLASSES, [{"kind": "attributes"}]), [[1, 0], [0, 2], [3, 3]])


def test_word_vectors_are_averaged_over_the_words_of_a_class(vector_file):
    vectors = embed_classes(CLASSES, [{"kind": "word_vectors", "path": vector_file}])
    np.testing.assert_array_equal(vectors, [[2, 0], [0, 3], [5, 5]])


def test_sources_stand_side_by_side_at_unit_length(vector_file):
    vectors = embed_classes(CLASSES, [{"kind": "attributes"}, {"kind": "word_vectors", "path": vector_file}])
    assert vectors.shape == (3, 4)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :2], axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 2:], axis=1), 1, rtol=1e-6)


def test_bag_of_words_counts_terms():
    vectors = embed_classes(CLASSES, [{"kind": "bag_of_words"}])
    assert vectors.shape == (3, 4)
    assert (vectors > 0).sum(axis=1).tolist() == [2, 1, 1]


def test_new_classes_are_counted_in_the_words_of_the_reference():
    new = pd.DataFrame({"class_name": ["lion"], "text": ["feline cat, strange"]})
    old = embed_classes(CLASSES, [{"kind": "bag_of_words"}])
    vectors = embed_classes(new, [{"kind": "bag_of_words"}], reference=CLASSES)
    np.testing.assert_allclose(vectors[0], old[0], rtol=1e-6)  # cat and feline; nobody has been strange before


#:   entity - animal - {cat, dog - puppy}
EDGES = "n00000001 n00000002\nn00000002 n00000003\nn00000002 n00000004\nn00000004 n00000005\n"


def test_wordnet_similarity_to_classes_and_their_ancestors(tmp_path):
    (tmp_path / "edges.txt").write_text(EDGES)
    sources = [{"kind": "wordnet", "path": str(tmp_path / "edges.txt")}]
    classes = pd.DataFrame({"class_name": ["cat", "dog"], "wnid": ["n00000003", "n00000004"]})
    vectors = embed_classes(classes, sources)  # to cat, dog, entity, animal
    np.testing.assert_allclose(vectors, [[1, 1 / 3, 1 / 3, 1 / 2], [1 / 3, 1, 1 / 3, 1 / 2]])
    puppy = pd.DataFrame({"class_name": ["puppy"], "wnid": ["n00000005"]})
    np.testing.assert_allclose(embed_classes(puppy, sources, reference=classes), [[1 / 4, 1 / 2, 1 / 4, 1 / 3]])
    with pytest.raises(DataError, match=r"none.*wordnet"):
        semantics_fingerprint(classes, [{"kind": "wordnet", "path": str(tmp_path / "none")}])


def test_auto_takes_what_there_is():
    assert resolve_sources(CLASSES, [{"kind": "auto"}]) == [{"kind": "attributes"}, {"kind": "text"}]
    assert resolve_sources(CLASSES.drop(columns="attributes"), [{"kind": "auto"}]) == [{"kind": "text"}]
    named = resolve_sources(CLASSES, [{"kind": "auto", "encoder": "other"}])
    assert named == [{"kind": "attributes"}, {"kind": "text", "encoder": "other"}]
    german = CLASSES.assign(text=["eine Katze mit einem Schwanz", "der weiße Bär", "ein Hund und der Knochen"])
    own = resolve_sources(german, [{"kind": "auto", "encoder": None}])
    assert own[1] == {"kind": "text", "encoder": "multilingual"}
    assert resolve_sources(german, [{"kind": "auto", "encoder": "other"}]) == named


@pytest.mark.slow  # loads a network
def test_sentences_of_like_things_are_alike():
    classes = pd.DataFrame({"class_name": list("abc"), "text": ["a small dog", "a puppy", "income tax law"]})
    vectors = embed_classes(classes, [{"kind": "text", "encoder": "minilm"}])
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]


def test_fingerprint_follows_text_and_settings():
    first = semantics_fingerprint(CLASSES, [{"kind": "text", "encoder": "minilm"}])
    assert first != semantics_fingerprint(CLASSES, [{"kind": "text", "encoder": "minilm", "of": "class_name"}])
    assert first != semantics_fingerprint(CLASSES.assign(text="same"), [{"kind": "text", "encoder": "minilm"}])


def test_a_changed_file_is_noticed_whatever_its_size_and_date(tmp_path):
    file = tmp_path / "v.txt"
    sources = [{"kind": "class_vectors", "path": str(file)}]
    seen = []
    for number in (1, 2):
        file.write_text("".join(f"{name} {number} 1\n" for name in CLASSES["class_name"]))
        os.utime(file, ns=(1, 1))
        seen.append((semantics_fingerprint(CLASSES, sources), with_fingerprints(sources)))
    assert seen[0][0] != seen[1][0]
    embed_classes(CLASSES, seen[1][1])
    with pytest.raises(DataError, match=r"v\.txt"):
        embed_classes(CLASSES, seen[0][1])


def test_a_changed_encoder_is_noticed(tmp_path):
    encoder = tmp_path / "encoder"
    (encoder / "pooling").mkdir(parents=True)
    source = {"kind": "text", "encoder": str(encoder)}
    found = set()
    for place, content in (("weights", "one"), ("weights", "two"), ("pooling/config.json", "{}")):
        (encoder / place).write_text(content)
        os.utime(encoder / place, ns=(1, 1))
        found.add(semantics_fingerprint(CLASSES, [source]))
    assert len(found) == 3
    (before,) = with_fingerprints([source])
    (encoder / "README.md").write_text("about it")
    assert with_fingerprints([source]) == [before]
    (encoder / "weights").write_text("new")
    with pytest.raises(DataError, match="encoder"):
        embed_classes(CLASSES, [before])


def test_an_encoder_of_the_hub_has_a_fingerprint_from_the_first_run_on(tmp_path, monkeypatch):
    """It is fetched before it is named, so that a recipe never goes without."""

    def download(name, local_files_only, **_):
        if local_files_only and not (tmp_path / name).exists():
            raise OSError("not in the cache")
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "model.safetensors").write_text("weights")
        return str(tmp_path / name)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    for name in ("some-model", "owner/other"):
        first, again = (with_fingerprints([{"kind": "text", "encoder": name}]) for _ in range(2))
        assert first == again
        assert first[0]["fingerprint"]
    assert (tmp_path / "sentence-transformers/some-model").is_dir()


@pytest.mark.slow
def test_an_encoder_that_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "modules.json").write_text("nonsense")
    with pytest.raises(DataError):
        embed_classes(CLASSES, [{"kind": "text", "encoder": str(tmp_path)}])


def test_gaps_are_named(tmp_path, vector_file):
    with pytest.raises(DataError, match="cat"):
        embed_classes(CLASSES.assign(text=["", "b", "c"]), [{"kind": "bag_of_words"}])
    with pytest.raises(DataError, match="attributes"):
        embed_classes(CLASSES.drop(columns="attributes"), [{"kind": "attributes"}])
    with pytest.raises(DataError, match="polar_bear"):
        embed_classes(CLASSES.assign(text=["cat", "ursus", "dog"]), [{"kind": "word_vectors", "path": vector_file}])
    with pytest.raises(DataError, match="smell"):
        embed_classes(CLASSES, [{"kind": "smell"}])
    with pytest.raises(DataError, match=r"none\.txt"):
        embed_classes(CLASSES, [{"kind": "word_vectors", "path": str(tmp_path / "none.txt")}])


class TestClassVectors:
    @pytest.fixture
    def path(self, tmp_path):
        np.savez(tmp_path / "v.npz", vectors=np.eye(3, dtype=np.float16)[:2], wnid=np.array(["n2", "n1"]))
        return str(tmp_path / "v.npz")

    classes = pd.DataFrame({"class_name": ["a", "b", "c"], "wnid": ["n1", "n2", "n3"]})

    def test_are_looked_up_by_the_named_column(self, path):
        source = {"kind": "class_vectors", "path": path, "by": "wnid"}
        np.testing.assert_array_equal(embed_classes(self.classes[:2], [source]), [[0, 1, 0], [1, 0, 0]])

    def test_missing_ones_fail_or_are_marked(self, path):
        source = {"kind": "class_vectors", "path": path, "by": "wnid"}
        with pytest.raises(DataError, match="'c'"):
            embed_classes(self.classes, [source])
        vectors = embed_classes(self.classes, [{**source, "missing": "drop"}])
        assert np.isnan(vectors).all(axis=1).tolist() == [False, False, True]

    def test_names_of_another_kind_are_refused(self, path):
        with pytest.raises(DataError):
            embed_classes(self.classes, [{"kind": "class_vectors", "path": path, "missing": "drop"}])
