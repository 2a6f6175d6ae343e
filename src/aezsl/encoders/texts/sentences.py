"""Class texts to vectors: prompt templates, several sentences per class, any text encoder."""

import csv
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.arrays import Float32, unit_rows
from aezsl.encoders.texts.encoder import load_encoder
from aezsl.encoders.texts.fingerprints import MINILM, changed, descriptions_digest, source_fingerprint
from aezsl.encoders.texts.written import WRITTEN, written_sentences
from aezsl.errors import DataError, counted
from aezsl.formats.names import CONTROLS, LONGEST_TEXT, alike_as, check_text, duplicates
from aezsl.formats.reading import first_few, reading
from aezsl.formats.webdataset import read_templates

log = logging.getLogger(__name__)

#: Columns of classes that templates can be filled with.
FILLED_BY = ("text", "class_name")


def text_vectors(
    classes: pd.DataFrame,
    encoder: str = MINILM,
    of: str = "text",
    templates: Sequence[str] | str = (),
    descriptions: str | None = None,
    fingerprint: str | None = None,
    new: bool = False,
) -> Float32:
    r"""Vectors of what is said about every class.

    A class with one sentence has the vector of that. Where it has several sentences, or there are templates, its vector
    is the mean over all sentences t of all templates, each at unit length, brought to unit length again:

    .. math:: s_c \propto \sum_{p, t} f(p(t)) / \|f(p(t))\|

    encoder : ``minilm`` (all-MiniLM-L6-v2, 384-d, carried by a package, no network); the name or folder of another
        sentence-transformers model; or that of a pair like CLIP, whose text tower is taken.
    of : what is encoded, ``text`` or ``class_name`` (with blanks for underscores).
    templates : prompts in which ``{}`` stands for the text, such as ``a photo of a {}.``; or a file of them, one per
        line.
    descriptions : a file of sentences by class, see ``read_descriptions``, or one of ``WRITTEN``; a class that is not
        in it keeps its own.
    fingerprint : of encoder and file, where they must not have changed.
    new : whether these are classes that somebody describes to a trained model: their own text then comes before what
        the file says of a class of that name, and the file is read for those that have none.
    """
    given = {"kind": "text", "encoder": encoder, "descriptions": descriptions}
    of_encoder, _, of_file = (fingerprint or source_fingerprint(given)).partition("+")
    sentences = [[text] for text in _texts(classes, of, required=descriptions is None)]
    if descriptions and not (new and all(text for (text,) in sentences)):
        if descriptions_digest(descriptions) != of_file:
            raise changed(descriptions)
        sentences = _described(classes, sentences, descriptions, new)
    if isinstance(templates, str):
        templates = read_templates(Path(templates).expanduser())
    if wrong := [template for template in templates if "{}" not in template]:
        raise DataError(f"a template must have {{}} where the text goes, got {wrong[0]!r}")
    encode = load_encoder(encoder, of_encoder)
    if not templates and not descriptions:
        return encode([own for (own,) in sentences])
    prompts = [[t.replace("{}", text) for text in own for t in templates or ("{}",)] for own in sentences]
    vectors = unit_rows(encode([prompt for own in prompts for prompt in own]))
    starts = np.cumsum([0, *(len(own) for own in prompts[:-1])])
    return unit_rows(np.add.reduceat(vectors, starts, axis=0)).astype(np.float32)


def _texts(classes: pd.DataFrame, of: str, required: bool) -> list[str]:
    if of not in FILLED_BY:
        raise DataError(f"semantics of kind 'text' can be of {' or '.join(FILLED_BY)}, got {of!r}")
    if of == "class_name":
        return [str(name).replace("_", " ") for name in classes["class_name"]]
    if of not in classes:
        if required:
            raise DataError("semantics of kind 'text' need the column 'text', which this data does not have")
        return [""] * len(classes)
    texts = classes[of].fillna("")
    if required and (empty := classes.loc[texts.eq(""), "class_name"].tolist()):
        raise DataError(f"{counted(len(empty), 'classes have', 'class has')} no text, for example {empty[0]!r}")
    return texts.tolist()


def _described(classes: pd.DataFrame, own: list[list[str]], given: str, own_first: bool) -> list[list[str]]:
    """The sentences of a file or a package where a class has some, else its own text; or the other way round."""
    table = written_sentences(given, classes) if given in WRITTEN else read_descriptions(Path(given).expanduser())
    names = classes["class_name"].tolist()
    texts = [[text for text in one if text] for one in own]
    found = [
        one or table.get(name, []) if own_first else table.get(name) or one
        for name, one in zip(names, texts, strict=True)
    ]
    if silent := [name for name, sentences in zip(names, found, strict=True) if not sentences]:
        raise DataError(f"{given} says nothing about {first_few(silent)}, and they have no text of their own: add them")
    if not own_first and (others := [name for name in names if name not in table]):
        log.warning("%s says nothing about %d of %d classes: their own text is used", given, len(others), len(names))
    return found


def read_descriptions(path: Path) -> dict[str, list[str]]:
    """Sentences by class: JSON, {class: [sentence, ...]}, or CSV, class_name and sentence in every row."""
    with reading(path, "sentences by class"):
        if path.suffix.lower() == ".json":
            table = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(table, dict):
                raise DataError(f"{path} must be a JSON object of class -> sentences, got a {type(table).__name__}")
            given = {name: [value] if isinstance(value, str) else value for name, value in table.items()}
        else:
            given = _rows(path)
    for name, sentences in given.items():
        if not isinstance(sentences, list) or not all(isinstance(text, str) and text.strip() for text in sentences):
            raise DataError(f"{path}: the sentences of {name!r} must be a list of texts that are not empty")
        for text in sentences:
            check_text(path, f"a sentence of {name!r}", text, LONGEST_TEXT, CONTROLS)
    said = [alike_as(" ".join(sentences)) for sentences in given.values()]
    if same := duplicates(said):
        both = " and ".join(repr(name) for name, text in zip(given, said, strict=True) if text == same[0])
        raise DataError(f"{path} says the same of {both}, so that nothing tells one from another: describe them apart")
    return given


def _rows(path: Path) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not {"class_name", "sentence"} <= set(rows.fieldnames or ()):
            raise DataError(f"{path} must have the columns class_name and sentence, got {rows.fieldnames}")
        for row in rows:
            given.setdefault(row["class_name"], []).append(row["sentence"] or "")
    return given
