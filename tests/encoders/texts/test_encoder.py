"""Descriptions that an encoder of English sentences does not read are told."""

import logging

import numpy as np
import pandas as pd
import pytest

from aezsl.data.vector_store import VectorStore
from aezsl.encoders.texts.encoder import looks_english
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.formats.emoji import Emoji
from aezsl.pipelines.semantic_embedding import nodes

GERMAN = ["ein großer weißer Seevogel mit langem rosa Schnabel", "ein kleiner grauer Vogel"]


@pytest.mark.parametrize(
    ("texts", "english"),
    [
        (["a large white sea bird with a long pink bill", "La Sagra's flycatcher, of Cuba"], True),
        (["red fox, wild animal", "melon, fruit"], True),  # keywords
        (["a drink, café con leche", "an Ångström ruler"], True),
        (["the letter Ω", "the letter π"], True),
        (GERMAN, False),
        (["un ave marina grande con alas grises y pico rosa", "un pájaro pequeño"], False),
        (["un grand oiseau blanc avec un long bec", "un petit oiseau gris"], False),
        (["白い大きな海鳥、暗い灰色の翼", "全身黒い鳥"], False),
        (["большая белая морская птица", "a black bird"], False),
        ([""], True),
    ],
)
def test_sentences_are_told_from_those_of_other_languages(texts, english):
    assert looks_english(texts) is english


def test_the_default_benchmark_looks_english():
    assert looks_english(Emoji().read().classes["text"].tolist())


@pytest.mark.parametrize(("encoder", "told"), [("minilm", True), ("a folder", False)])
def test_the_run_says_so_unless_another_encoder_is_named(encoder, told, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(nodes, "with_fingerprints", lambda sources: sources)
    monkeypatch.setattr(nodes, "semantics_fingerprint", lambda *_: "0")
    monkeypatch.setattr(nodes, "embed_classes", lambda *_: np.ones((2, 3), dtype=np.float32))
    classes = pd.DataFrame({"class_name": ["albatros", "alk"], "text": GERMAN})
    with caplog.at_level(logging.WARNING):
        nodes.embed(classes, VectorStore(tmp_path), EmbeddingSettings(sources=[{"kind": "auto", "encoder": encoder}]))
    assert bool(caplog.records) is told
