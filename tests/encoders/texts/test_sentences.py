"""Prompts, several sentences per class, and the text tower of a pair."""

import json
import logging

import numpy as np
import pandas as pd
import pytest

from aezsl.encoders.texts import sentences
from aezsl.encoders.texts.encoder import load_encoder
from aezsl.encoders.texts.fingerprints import encoder_fingerprint, with_fingerprints
from aezsl.encoders.texts.semantics import embed_classes, semantics_fingerprint
from aezsl.encoders.texts.sentences import read_descriptions
from aezsl.errors import DataError
from tests.helpers.pretrained import save_pair

CLASSES = pd.DataFrame({"class_name": ["red_fox", "melon"], "text": ["a fox", "a fruit"]})


def letters(texts):
    """Counts of three letters: an encoder whose vectors can be foreseen."""
    return np.array([[text.count(letter) + 0.5 for letter in "afo"] for text in texts], dtype=np.float32)


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setattr(sentences, "load_encoder", lambda *_: letters)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def mean(*texts):
    return unit(unit(letters(texts)).sum(axis=0))


@pytest.mark.usefixtures("counting")
class TestPrompts:
    def test_without_any_the_vectors_are_the_encoder_s(self):
        np.testing.assert_array_equal(embed_classes(CLASSES, [{"kind": "text"}]), letters(CLASSES["text"]))
        by_name = embed_classes(CLASSES, [{"kind": "text", "of": "class_name"}])
        np.testing.assert_array_equal(by_name, letters(["red fox", "melon"]))

    def test_templates_are_averaged_after_normalisation(self):
        source = {"kind": "text", "templates": ["a photo of {}.", "{}, off"], "of": "class_name"}
        vectors = embed_classes(CLASSES, [source])
        np.testing.assert_allclose(vectors[0], mean("a photo of red fox.", "red fox, off"), rtol=1e-6)

    @pytest.mark.parametrize("suffix", [".json", ".csv"])
    def test_several_sentences_per_class(self, suffix, tmp_path, caplog):
        path = tmp_path / f"said{suffix}"
        if suffix == ".json":
            path.write_text(json.dumps({"red_fox": ["it is a fox", "of fur"]}))
        else:
            path.write_text("class_name,sentence\nred_fox,it is a fox\nred_fox,of fur\n")
        (source,) = with_fingerprints([{"kind": "text", "descriptions": str(path), "templates": ["{}", "{} a"]}])
        vectors = embed_classes(CLASSES, [source])
        np.testing.assert_allclose(vectors[0], mean("it is a fox", "of fur", "it is a fox a", "of fur a"), rtol=1e-6)
        np.testing.assert_allclose(vectors[1], mean("a fruit", "a fruit a"), rtol=1e-6)
        assert "1 of 2 classes" in caplog.text
        before = semantics_fingerprint(CLASSES, [{"kind": "text", "descriptions": str(path)}])
        path.write_text(path.read_text().replace("fur", "far"))
        assert semantics_fingerprint(CLASSES, [{"kind": "text", "descriptions": str(path)}]) != before
        with pytest.raises(DataError):
            embed_classes(CLASSES, [source])

    def test_who_describes_a_class_to_a_trained_model_is_heard(self, tmp_path, caplog):
        """What a file says of a class of that name is for training; averaged and scaled as there all the same."""
        path = tmp_path / "said.json"
        path.write_text(json.dumps({"red_fox": ["it is a fox", "of fur"]}))
        sources = with_fingerprints([{"kind": "text", "descriptions": str(path)}])
        partly = CLASSES.assign(text=["", "of old"])
        vectors = embed_classes(partly, sources, reference=CLASSES)
        np.testing.assert_allclose(vectors, [mean("it is a fox", "of fur"), mean("of old")], rtol=1e-6)
        path.unlink()
        vectors = embed_classes(CLASSES, sources, reference=CLASSES)
        np.testing.assert_allclose(vectors, [mean("a fox"), mean("a fruit")], rtol=1e-6)
        assert not caplog.text

    def test_mistakes_are_named(self, tmp_path):
        with pytest.raises(DataError, match="a photo"):
            embed_classes(CLASSES, [{"kind": "text", "templates": ["a photo"]}])
        with pytest.raises(DataError, match="colour"):
            embed_classes(CLASSES, [{"kind": "text", "of": "colour"}])
        (tmp_path / "none.json").write_text("{}")
        with pytest.raises(DataError, match="red_fox, melon"):
            embed_classes(CLASSES[["class_name"]], [{"kind": "text", "descriptions": str(tmp_path / "none.json")}])
        (tmp_path / "bad.json").write_text('{"red_fox": [1]}')
        with pytest.raises(DataError, match="red_fox"):
            read_descriptions(tmp_path / "bad.json")
        for said in (
            '{"red_fox": ["a\\u0000"]}',
            '{"red_fox": ["\\ud800"]}',
            '{"red_fox": ["a fox"], "fox": "A  fox"}',
        ):
            (tmp_path / "bad.json").write_text(said)
            with pytest.raises(DataError, match="'red_fox'"):
                read_descriptions(tmp_path / "bad.json")


@pytest.mark.slow  # imports a large library
@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_the_text_tower_of_a_pair(family, tmp_path, caplog):
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = save_pair(tmp_path, family)
    with caplog.at_level(logging.WARNING):
        vectors = embed_classes(CLASSES, [{"kind": "text", "encoder": folder}])
    assert vectors.shape == (2, 16)
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    padding = "max_length" if family == "siglip" else False
    for text, vector in zip(CLASSES["text"], vectors, strict=True):
        tokens = tokenizer([text], padding=padding, max_length=16, return_tensors="pt")
        ids = {"input_ids": tokens["input_ids"]}
        with torch.inference_mode():
            expected = model.get_text_features(**ids).pooler_output[0].numpy()
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    assert not [record for record in caplog.records if record.name.startswith("aezsl")]
    long = CLASSES.assign(text=["a red fox", "a green fruit " * 20])
    cut = embed_classes(long, [{"kind": "text", "encoder": folder}])[1]
    assert "1 of 2 texts" in caplog.text
    kept = long.assign(text=" ".join(("a green fruit " * 5).split()[:14]))  # and the tokens of begin and end
    np.testing.assert_allclose(cut, embed_classes(kept, [{"kind": "text", "encoder": folder}])[1], atol=1e-5)
    assert load_encoder(folder, encoder_fingerprint(folder)) is load_encoder(folder, encoder_fingerprint(folder))
