"""One photo among plain words, by the photo model: the same answer as ``zero_shot`` gives, in a fraction of the time.

Nothing is imported but numpy, Pillow, ONNX Runtime and the tokenizer: no pandas, scikit-learn, scipy or pydantic, whose
imports take longer than both networks. Whatever needs more (tables of classes, folders, trained models, errors that
must be told) is left to ``zero_shot``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.pictures import load_encode
from aezsl.encoders.knowledge.labels import plain_label
from aezsl.encoders.knowledge.named import found_by_name, groups_of
from aezsl.encoders.knowledge.vectors import ENCODERS, encode
from aezsl.errors import DataError
from aezsl.evaluation.answers import Answers
from aezsl.evaluation.confidence import NONE_OF_THESE, Confidence
from aezsl.evaluation.ranking import top_k
from aezsl.formats.npz import load_npz
from aezsl.formats.reading import alike_as, composed
from aezsl.methods.heads.seen_classifiers import SeenClassifiers
from aezsl.methods.heads.union import Doubts, UnionFormula
from aezsl.serving import VERSION
from aezsl.serving.photos import NETWORK, PHOTOS, cached_file


@dataclass(frozen=True)
class Named:
    """The names of a photo, or of all photos of a folder."""

    paths: list[str]
    shown: list[str]  # the same below the folder
    answers: Answers
    none: bool  # whether "none of these" may be said
    unreadable: dict[str, str]  # path -> why
    warnings: list[str]  # what a user should know before he trusts the names
    corrected: frozenset[int] = frozenset()  # places of photos that somebody has named
    worth_a_look: tuple[int, ...] = ()  # places, where it was asked for

    @property
    def names(self) -> list[str]:
        """What every photo is called, several labels with commas between them; "none of these" where that is so."""
        return [", ".join(said) or NONE_OF_THESE for said in self.answers.said(self.none)]


def name_one_photo(photo: Path, labels: Any, model: Any, device: str, multi: bool) -> Named | None:
    """The names of one photo; None where that takes more than there is here: ask ``name_images``."""
    names = plain_names(labels)
    if not names or model not in (None, PHOTOS) or not photo.is_file():
        return None
    plain = [plain_label(name) for name in names]
    if len(set(plain)) < len(plain):
        return None
    backbone = make_backbone(NETWORK, device=device)
    if (kept := _kept_model(cached_file(NETWORK, backbone))) is None:
        return None
    formula, confidence = kept
    X = load_encode([backbone])([photo]).astype(np.float64)
    A = np.hstack([unit_rows(encode(encoder, plain)) for encoder in ENCODERS]).astype(np.float64)
    scores = formula.scores(X, **formula.target_parts(A))
    if not multi:
        ranking, temperature = top_k(scores, len(names)), confidence.temperature or 1.0
        answers = Answers.make(ranking, names, temperature, confidence.threshold, groups_of(found_by_name(names)))
    elif confidence.yes_no:
        answers = Answers.each(scores, names, confidence.yes_no.probabilities(scores, formula.rivals(X)))
    doubts = doubts_in_words(names, formula.doubts(A), multi)
    return Named([str(photo)], [photo.name], answers, NONE_OF_THESE not in names, {}, doubts)


def plain_names(labels: Any) -> list[str] | None:
    """Names as they are typed, with commas between them or as a list; None for anything else, or anything doubtful."""
    if isinstance(labels, str):
        text = labels.strip()
        if text[:1] in ("[", "{") or "\n" in text or "class_name" in text:
            return None
        labels = [name.strip() for name in text.split(",") if name.strip()]
    if not isinstance(labels, list) or not all(isinstance(name, str) and name.isprintable() for name in labels):
        return None
    names = [composed(name.strip()) for name in labels]
    return names if all(names) and len({alike_as(name) for name in names}) == len(names) else None


def _kept_model(path: Path) -> tuple[UnionFormula, Confidence] | None:
    """The photo model as ``photos`` keeps it; None where it is not there, damaged, or of another version."""
    try:
        header, arrays = load_npz(path, "a trained model", VERSION, ("parameters", "confidence"))
    except DataError:
        return None
    formula = UnionFormula()
    vars(formula).update(header["parameters"])
    formula.seen_ = SeenClassifiers.from_state({name.removeprefix("model."): arrays[name] for name in arrays})
    return formula, Confidence.from_mapping(header["confidence"])


def doubts_in_words(names: Sequence[str], doubts: Doubts | None, multi: bool = False) -> list[str]:
    """Why names among these labels should not be trusted, where the method can tell without an image.

    multi : several of them may be true, so that labels that look the same are no harm.
    """
    if len(names) == 1 and not multi:
        return ["there is one label only: an image can be that, or none of these"]
    if doubts is None:
        return []
    far = [names[i] for i in doubts.far]
    found = [f"nothing known resembles {_listed(far)}: expect wrong names"] if far else []
    pairs = [f"{names[i]} and {names[j]}" for i, j in doubts.alike if not multi]
    return found + ([f"{_listed(pairs)} look the same to the model: it will mix them up"] if pairs else [])


def _listed(names: Sequence[str], n: int = 5) -> str:
    return ", ".join(names[:n]) + (f" and {len(names) - n} more" if len(names) > n else "")
