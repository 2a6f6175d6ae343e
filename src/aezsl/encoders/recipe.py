"""What must be known beside a trained model to use it: how images and classes became the numbers it was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from aezsl.arrays import Array, Labels, Mask
from aezsl.data.benchmark import ROLES
from aezsl.data.normalise import Normaliser, given_beside
from aezsl.data.problem import Problem
from aezsl.encoders.images.encoder import ImageEncoder, make_encoder
from aezsl.encoders.images.settings import JOINED_BY, ExtractionSettings, OneBackbone
from aezsl.encoders.knowledge import ENCODERS
from aezsl.encoders.knowledge.labels import plain_label, read_labels
from aezsl.encoders.named_classes import NamedClasses, class_groups, plain_name
from aezsl.encoders.pairs import require_pair
from aezsl.encoders.pretrained import found_near
from aezsl.encoders.texts.encoder import looks_english
from aezsl.encoders.texts.fingerprints import MINILM, MULTILINGUAL, TRANSLATED
from aezsl.encoders.texts.semantics import KINDS, check_sources, embed_classes
from aezsl.errors import DataError
from aezsl.formats.names import duplicates

#: Columns of the classes table that a recipe keeps: bags of words and WordNet similarities are relative to them.
KEPT_COLUMNS = ("class_name", "role", "text", "wnid", "group")

#: Kinds of semantics that words alone describe.
BY_TEXT = ("text", "bag_of_words", "word_vectors")

#: Columns of a table of classes that describe them.
DESCRIBING = ("text", "attributes", "wnid")

#: What is kept of every backbone; its precision too, where that is another than float32.
BACKBONE_KEYS = ("backbone", "weights", "layer")


@dataclass(frozen=True)
class Recipe:
    """Everything needed to embed new images and classes as in training."""

    backbone: dict[str, Any]  # parts (see BACKBONE_KEYS), side by side, and the fingerprint of the training features
    features: Normaliser
    semantics: Normaliser
    sources: list[dict[str, Any]]  # of semantics
    attribute_names: list[str]
    classes: pd.DataFrame  # those of training, seen and unseen: see KEPT_COLUMNS
    class_vectors: Array  # (C, a) of theirs, before normalisation
    example: Array  # (2, d) features before normalisation, to show what they look like

    def as_in(self, problem: Problem) -> "Recipe":
        """The recipe of a model that is trained on this normalised problem: new data goes through the same."""
        return replace(self, features=problem.feature_normaliser, semantics=problem.semantic_normaliser)

    def found_near(self, file: Path) -> "Recipe":
        """The same where networks, encoders and files have relative names, looked for from where ``file`` lies too."""

        def found(named: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
            return named | {key: found_near(named[key], file) for key in keys if isinstance(named.get(key), str)}

        parts = [found(part, ("backbone", "weights")) for part in self.backbone["parts"]]
        sources = [found(source, ("encoder", "descriptions", "path")) for source in self.sources]
        return replace(self, backbone=self.backbone | {"parts": parts}, sources=sources)

    def make_encoder(self, name: str | None = None, device: str = "auto") -> ImageEncoder:
        """What computed the training features; another name only where they came from a file."""
        parts = self.backbone["parts"]
        names = JOINED_BY.join(part["backbone"] for part in parts)
        if any(part["backbone"] == "file" for part in parts):
            if name is None:
                raise DataError(
                    "this model was trained on features from a file, so nothing says how to compute those of new "
                    "images: name the backbone that made the file (predict.backbone), or train with a backbone"
                )
            encoder = make_encoder(ExtractionSettings(backbone=name, device=device))
            if len(encoder.backbones) != len(parts):
                raise DataError(f"this model was trained on {len(parts)} sets of features, side by side, not on {name}")
            return encoder
        self.check_backbone(name)
        encoder = make_encoder(ExtractionSettings(backbone=[OneBackbone(**part) for part in parts], device=device))
        if encoder.vectors.fingerprint != self.backbone["fingerprint"]:
            raise DataError(
                f"{names} is not what it was when this model was trained (its weights or the packages "
                "that carry them have changed): train again"
            )
        return encoder

    def check_backbone(self, name: str | None) -> None:
        """Refuse another backbone than that of training, unless training had its features from a file."""
        parts = [part["backbone"] for part in self.backbone["parts"]]
        if "file" not in parts and name not in (None, names := JOINED_BY.join(parts)):
            raise DataError(f"this model was trained on features of {names}, not of {name}: leave the backbone out")

    def require_pair(self, method: str) -> None:
        """Refuse a method that compares images with texts unless one pair of encoders made both, and nothing moved."""
        backbones = [part["backbone"] for part in self.backbone["parts"]]
        ways = {"features": [self.features.steps], "semantics": [self.semantics.steps]}
        require_pair(method, backbones, self.sources, ways)

    @property
    def reads_words(self) -> bool:
        """Whether words alone describe a class."""
        return all(source["kind"] in BY_TEXT for source in self.sources)

    def targets(self, classes: pd.DataFrame | None = None, attribute_names: Sequence[str] = ()) -> "NamedClasses":
        """The classes to choose among: those of a table, or else the unseen classes of training.

        A row that names a class of training, and says nothing else of it than training did, means that class. Any other
        class is described by its row (text, attributes, wnid), or where words can describe a class by its name.
        """
        if classes is None:
            classes = self.classes.loc[self.classes["role"] == "unseen", ["class_name"]]
            if classes.empty:
                raise DataError("this model has no unseen classes of its own: give the classes to choose among")
        names, rows = classes["class_name"].tolist(), self._rows_of_training(classes)
        vectors = self.class_vectors[rows]
        if (new := rows < 0).any():
            vectors[new] = self._embed(classes[new], attribute_names)
        if (lost := np.isnan(vectors).any(axis=1)).any():
            raise DataError(
                f"class {names[int(lost.argmax())]!r} has no vector in the files of this model: describe it"
            )
        seen, groups = self._are_seen(names, vectors), class_groups(classes, self.classes)
        return NamedClasses(names, *self.described(vectors), seen, groups)

    def described(self, vectors: Array) -> tuple[Array, Array | None]:
        """Class vectors (C, a) normalised as in training, and as they are where similarity is measured by these."""
        vectors = vectors.astype(np.float64)
        return self.semantics(vectors), given_beside(self.semantics.steps, vectors)

    def _are_seen(self, names: Sequence[str], vectors: Array) -> Mask:
        """Which classes are seen ones of training: by their names, or by their vectors before normalisation."""
        seen = (self.classes["role"] == "seen").to_numpy()
        known = {plain_name(name) for name in self.classes.loc[seen, "class_name"]}
        rows = {row.tobytes() for row in self.class_vectors[seen].astype(np.float32)}
        pairs = zip(names, vectors.astype(np.float32), strict=True)
        return np.array([plain_name(name) in known or row.tobytes() in rows for name, row in pairs], dtype=bool)

    def _rows_of_training(self, classes: pd.DataFrame) -> Labels:
        """Which class of training every row of a table means; -1 for none."""
        known, names = self.classes["class_name"], classes["class_name"]
        described = [column for column in DESCRIBING if column in classes]
        if not described:
            by_name = {plain_name(name): row for row, name in enumerate(known)}
            by_name |= {name: row for row, name in enumerate(known)}
            return np.array([by_name.get(name, by_name.get(plain_name(name), -1)) for name in names])
        if "text" in described and "text" in self.classes and self.reads_words:
            by_text = {pair: row for row, pair in enumerate(zip(known, self.classes["text"], strict=True))}
            return np.array([by_text.get(pair, -1) for pair in zip(names, classes["text"], strict=True)])
        return np.full(len(classes), -1)

    def _embed(self, classes: pd.DataFrame, attribute_names: Sequence[str]) -> Array:
        """Vectors of classes that are not those of training."""
        if not any(column in classes for column in DESCRIBING):
            if not self.reads_words:
                kinds = ", ".join(source["kind"] for source in self.sources)
                raise DataError(
                    f"class {classes['class_name'].iloc[0]!r} was not in training and is not described, and this model "
                    f"knows classes by {kinds}, which words cannot give: describe all classes so, or name classes of "
                    "training, or use a model that was trained with texts"
                )
            classes, foreign = self._read_names(classes)
            if same := duplicates(classes["text"].tolist()):
                both = " and ".join(map(repr, classes.loc[classes["text"] == same[0], "class_name"]))
                raise DataError(f"{both} mean the same: leave one of them out, or describe them")
        elif "text" in classes and not looks_english(classes["text"].fillna("").tolist()):
            foreign = np.ones(len(classes), dtype=bool)
        else:
            foreign = np.zeros(len(classes), dtype=bool)
        classes = self._aligned(classes, attribute_names)
        vectors = embed_classes(classes, self.sources, self.classes)
        if foreign.any() and MINILM in self._text_encoders:
            translated = [_translated(source) for source in self.sources]
            vectors[foreign] = embed_classes(classes[foreign], translated, self.classes)
        if vectors.shape[1] != self.class_vectors.shape[1]:
            raise DataError(
                f"classes must be described by {self.class_vectors.shape[1]} numbers, got {vectors.shape[1]}"
            )
        return vectors

    @property
    def _text_encoders(self) -> list[str]:
        return [source.get("encoder") or MINILM for source in self.sources if source["kind"] == "text"]

    def _read_names(self, classes: pd.DataFrame) -> tuple[pd.DataFrame, Mask]:
        """Classes that nothing but their names describes, and which of these are of another language than English.

        A model that reads English has names of other languages translated where that is known. The photo model, which
        learnt from plain names, has English ones plain, too.
        """
        names, encoders = classes["class_name"].tolist(), self._text_encoders
        texts, foreign = read_labels(names) if MINILM in encoders else (names, [False] * len(names))
        if encoders != list(ENCODERS):
            texts = [name if text == plain_label(name) else text for name, text in zip(names, texts, strict=True)]
        return classes.assign(text=texts), np.array(foreign, dtype=bool)

    def _aligned(self, classes: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        """The same attributes in the order of training, where both have names."""
        if not self.attribute_names or not names or list(names) == self.attribute_names:
            return classes
        if missing := [name for name in self.attribute_names if name not in set(names)]:
            raise DataError(f"the classes have no attribute {missing[0]!r} (of {len(missing)} missing) as in training")
        order = [list(names).index(name) for name in self.attribute_names]
        ordered = [np.asarray(vector)[order] for vector in classes["attributes"]]
        return classes.assign(attributes=pd.Series(ordered, index=classes.index, dtype=object))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Header and arrays, to be saved."""
        header = {
            "backbone": self.backbone,
            "steps": {"features": self.features.steps, "semantics": self.semantics.steps},
            "sources": self.sources,
            "attribute_names": self.attribute_names,
            "classes": self.classes.to_dict("list"),
        }
        arrays = {"class_vectors": self.class_vectors, "example": self.example}
        for part in ("features", "semantics"):
            arrays |= {f"{part}_{key}": value for key, value in getattr(self, part).statistics.items()}
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, Array]) -> "Recipe":
        """The recipe that ``state`` was taken of; anything else is refused."""

        def normaliser(part: str) -> Normaliser:
            statistics = {key.removeprefix(f"{part}_"): a for key, a in arrays.items() if key.startswith(f"{part}_")}
            return Normaliser(tuple(header["steps"][part]), statistics)

        recipe = cls(
            header["backbone"],
            normaliser("features"),
            normaliser("semantics"),
            header["sources"],
            header["attribute_names"],
            pd.DataFrame(header["classes"]),
            arrays["class_vectors"],
            arrays["example"],
        )
        recipe.check()
        return recipe

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        for name, array in (("class_vectors", self.class_vectors), ("example", self.example)):
            if array.ndim != 2 or 0 in array.shape or array.dtype.kind != "f" or not np.isfinite(array).all():
                raise DataError(f"{name} of a recipe must be a matrix of finite numbers, got shape {array.shape}")
        if not {"class_name", "role"} <= set(self.classes.columns) <= set(KEPT_COLUMNS):
            raise DataError(f"classes of a recipe need class_name and role, got {list(self.classes.columns)}")
        names = self.classes["class_name"]
        if len(names) != len(self.class_vectors) or names.duplicated().any() or not names.map(_is_name).all():
            raise DataError(f"a recipe needs a name of its own for each of {len(self.class_vectors)} class vectors")
        if not self.classes["role"].isin(ROLES).all():
            raise DataError(f"the role of a class must be one of {', '.join(ROLES)}")
        parts = self.backbone.get("parts")
        if set(self.backbone) != {"parts", "fingerprint"} or not isinstance(parts, list) or not parts:
            raise DataError(f"a backbone has parts and their fingerprint, got {sorted(self.backbone)}")
        if not all(isinstance(part, dict) and part.keys() - {"precision"} == set(BACKBONE_KEYS) for part in parts):
            raise DataError(f"every part of a backbone must have {', '.join(BACKBONE_KEYS)}")
        if not all(isinstance(source, dict) and source.get("kind") in KINDS for source in self.sources):
            raise DataError(f"sources of semantics must each have a kind of: {', '.join(KINDS)}")
        if not isinstance(self.attribute_names, list) or not all(map(_is_name, self.attribute_names)):
            raise DataError("attribute names must be a list of names")
        check_sources(self.sources)
        for part in parts:
            try:
                OneBackbone(**part)
            except ValidationError as error:
                raise DataError(f"{error.errors()[0]['loc'][0]} of a backbone is not what it may be") from error
        if not all(map(_reads_what_it_knows, self.sources)):
            raise DataError("a source of semantics names a file or an encoder without saying which content it had")
        self.features.check_width(self.example.shape[1])
        self.semantics.check_width(self.class_vectors.shape[1])


def _translated(source: dict[str, Any]) -> dict[str, Any]:
    """The source for texts of other languages than English, where its encoder reads English alone."""
    reads_english = source["kind"] == "text" and (source.get("encoder") or MINILM) == MINILM
    kept = {name: value for name, value in source.items() if name != "fingerprint"}
    return {**kept, "encoder": TRANSLATED} if reads_english else source


def _reads_what_it_knows(source: dict[str, Any]) -> bool:
    """Whether all that a source reads has a digest in the recipe: what has another content is refused unread.

    Otherwise a stranger's model could name any file of its user, and errors could tell what stands in it.
    """
    read = {source.get(name) for name in ("encoder", "descriptions", "path")} - {None, MINILM, MULTILINGUAL}
    known = _is_name(source.get("fingerprint"))
    # A file of templates has been read by training.
    return not isinstance(source.get("templates"), str) and (known or not (read or source["kind"] == "wordnet"))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)
