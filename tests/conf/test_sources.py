"""Sources of semantics as one word of the command line."""

import pytest

from aezsl import settings
from aezsl.config.loader import read_sources
from aezsl.errors import ParameterError
from tests.helpers import ROOT


def test_kinds_with_their_settings_joined_by_plus():
    assert read_sources("attributes") == [{"kind": "attributes"}]
    assert read_sources("text:encoder=minilm:of=class_name+bag_of_words:max_features=20") == [
        {"kind": "text", "encoder": "minilm", "of": "class_name"},
        {"kind": "bag_of_words", "max_features": 20},
    ]
    with pytest.raises(ParameterError, match="expected name=value behind a colon, got 'minilm'"):
        read_sources("text:minilm")


def load(text):
    params = {"semantic_embedding": {"sources": text}}
    return settings.CONFIG_LOADER_CLASS(str(ROOT / "conf"), "dogs", params, **settings.CONFIG_LOADER_ARGS)


def test_they_stand_for_those_of_the_environment_and_are_checked_alike():
    loader = load("text:encoder=minilm+text:encoder=/models/mpnet")
    loader.check()
    assert loader["parameters"]["semantic_embedding"]["sources"] == [
        {"kind": "text", "encoder": "minilm"},
        {"kind": "text", "encoder": "/models/mpnet"},
    ]
    for text, message in (
        ("words", r"sources\[0\] must have a kind, one of: .*; got .*words"),
        ("text:encode=minilm", r"unknown parameter .*sources\[0\]\.encode: did you mean .*encoder"),
        ("word_vectors", r"sources\[0\]\.path is missing"),
    ):
        with pytest.raises(ParameterError, match=message):
            load(text).check()
