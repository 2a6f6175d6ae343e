"""What a label says in plain English, however and in whichever language it is written."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors
from aezsl.encoders.knowledge import labels as reading
from aezsl.encoders.knowledge.labels import plain_label, read_labels
from aezsl.encoders.texts.fingerprints import encoder_fingerprint, with_fingerprints
from aezsl.encoders.texts.semantics import embed_classes, resolve_sources
from tests.helpers.recipes import make_recipe


@pytest.mark.parametrize(
    "label",
    ["red fox", "a red fox", "The Red Fox", "RED FOX", "red_fox", "a photo of a red fox.", "Picture of red  fox"],
)
def test_a_label_is_the_same_however_it_is_written(label):
    assert plain_label(label) == "red fox"


@pytest.mark.parametrize("label", ["Katze", "Keks", "pants", "the", "_", "ein Hund", "狐狸", "puppies, dogs"])
def test_words_of_other_languages_plurals_and_what_is_nothing_else_stay(label):
    assert plain_label(label) == label


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        (["der Hund", "Katze", "eine Ente"], ["dog", "cat", "duck"]),
        (["ours", "chat", "canard", "le homard"], ["bear", "cat", "duck", "lobster"]),
        (["perro", "gato", "tiburón"], ["dog", "cat", "shark"]),
        (["狗", "鲨鱼"], ["dog", "shark"]),
        (["Hund", "a cat", "dog house"], ["dog", "cat", "dog house"]),
    ],
)
def test_words_that_emoji_have_are_read_in_their_language(labels, texts):
    assert read_labels(labels) == (texts, [False] * len(texts))


@pytest.mark.parametrize(
    "labels", [["a cat", "red foxes"], ["ours", "chat"], ["smartphone", "selfie"], ["accordion", "ferry", "euphonium"]]
)
def test_english_labels_are_plain_ones(labels):
    assert read_labels(labels) == ([plain_label(label) for label in labels], [False] * len(labels))


def test_for_words_that_are_known_no_other_language_is_read(monkeypatch):
    monkeypatch.setattr(reading, "_meanings", lambda _: pytest.fail("another language is read"))
    assert read_labels(["a cat", "DOGS"])[0] == ["cat", "dogs"]


def test_words_that_emoji_do_not_have_stay_and_are_of_another_language():
    assert read_labels(["Hund", "Stichsäge"]) == (["dog", "Stichsäge"], [False, True])
    assert read_labels(["scie_sauteuse à métaux"])[1] == [True]


def test_two_labels_never_become_the_same(monkeypatch):
    monkeypatch.setattr(reading, "_meanings", lambda _: {"boot": "ship", "schiff": "ship", "kahn": "boat"})
    assert read_labels(["Boot", "Schiff", "Kahn", "boat"])[0] == ["Boot", "Schiff", "Kahn", "boat"]


def test_without_names_of_emoji_labels_stay(monkeypatch):
    monkeypatch.setattr(reading, "_dictionaries", lambda: ())
    assert read_labels(["Hund", "Bär"]) == (["Hund", "Bär"], [True, True])


def test_a_label_of_another_language_is_brought_to_the_space_of_english_ones():
    ferry, raw, mapped = (
        label_vectors([text], ["minilm"], foreign)[0]
        for text, foreign in (("ferry", ()), ("Fähre", ()), ("Fähre", [True]))
    )
    assert mapped @ ferry > raw @ ferry
    many = ["multilingual"]
    np.testing.assert_array_equal(label_vectors(["Fähre"], many, [True]), label_vectors(["Fähre"], many))


def test_the_translating_encoder_is_another_one_when_its_mapping_is(monkeypatch, tmp_path):
    before = encoder_fingerprint("translated")
    other = tmp_path / "vectors.npz"
    other.write_bytes(b"another")
    monkeypatch.setattr("aezsl.encoders.texts.fingerprints.VECTORS", other)
    assert encoder_fingerprint("translated") != before


def test_descriptions_that_are_not_english_are_read_by_both_encoders_of_other_languages():
    german = pd.DataFrame({"class_name": ["a"], "text": ["ein großer Vogel mit einem langen Schnabel"]})
    english = german.assign(text="a large bird with a long bill")
    encoders = [
        [one.get("encoder") for one in resolve_sources(table, [{"kind": "auto"}])] for table in (german, english)
    ]
    assert encoders == [["multilingual", "translated"], [None]]
    named = resolve_sources(german, [{"kind": "auto", "encoder": "minilm"}])
    assert [one["encoder"] for one in named] == ["minilm"]


def test_a_model_that_learnt_from_english_takes_descriptions_and_names_of_other_languages():
    recipe, _ = make_recipe()
    sources = with_fingerprints([{"kind": "text", "encoder": "minilm"}])
    said = recipe.classes.assign(text=[f"thing {i}" for i in range(len(recipe.classes))])
    vectors = embed_classes(said, sources)
    recipe = replace(recipe, classes=said, class_vectors=vectors, sources=sources, attribute_names=[])
    recipe = replace(recipe, semantics=replace(recipe.semantics, steps=(), statistics={}))
    texts = {
        "en": "a fish with sharp teeth in the sea",
        "de": "ein Fisch mit scharfen Zähnen im Meer",
        "no": "a warm coat",
    }
    found = {
        language: unit_rows(recipe.targets(pd.DataFrame({"class_name": ["x"], "text": [text]})).vectors)[0]
        for language, text in texts.items()
    }
    assert found["de"] @ found["en"] > 0.5 > found["no"] @ found["en"]
    duck, ente = (recipe.targets(pd.DataFrame({"class_name": [name]})).vectors for name in ("duck", "Ente"))
    np.testing.assert_array_equal(duck, ente)
