"""The photo model: names any photo by any words. It needs no training image and no training.

Its seen classes are the 1,000 classifiers in the last layer of the network that is installed with the package
(``aezsl.encoders.knowledge``); its method is ``AEZSLHeads``, for a folder as a whole ``AEZSLHeadsT``. It is a trained
model like any other: ``classify``, the page, the service and ``export`` take it.

One photo among plain words is named here in a fraction of the time. Nothing is imported for it but numpy, Pillow, ONNX
Runtime and the tokenizer: no pandas, scikit-learn, scipy or pydantic, whose imports take longer than both networks.
Whatever needs more (tables of classes, folders, trained models, errors that must be told) is left to ``zero_shot``.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aezsl import __version__
from aezsl.arrays import unit_rows
from aezsl.encoders.images.backbones import Backbone, make_backbone
from aezsl.encoders.images.engine import graph_folder
from aezsl.encoders.images.pictures import load_encode
from aezsl.encoders.knowledge.labels import read_labels
from aezsl.encoders.knowledge.named import found_by_name, groups_of
from aezsl.encoders.knowledge.vectors import ENCODERS, label_parts
from aezsl.errors import DataError
from aezsl.evaluation.answers import Answers
from aezsl.evaluation.confidence import NONE_OF_THESE, Confidence
from aezsl.evaluation.ranking import top_k
from aezsl.evaluation.yes_no import YesNo
from aezsl.formats.names import LONGEST_CLASS_NAME, alike_as, composed
from aezsl.formats.npz import load_npz
from aezsl.methods.heads.union import Doubts, SeenClassifiers, UnionFormula
from aezsl.serving import VERSION

if TYPE_CHECKING:
    from aezsl.serving.trained import Confused, TrainedModel

log = logging.getLogger(__name__)

#: What users call it.
PHOTOS = "photos"

#: The network whose classifiers it knows.
NETWORK = "efficientnet_lite0"

#: Raised whenever the same parts would give another model.
KNOWLEDGE = 2


def photo_model(network: str = NETWORK, together: bool = False) -> "TrainedModel":
    """The model, made the first time and read from the cache folder afterwards.

    together : for a folder of photos that are named as a whole.
    """
    from aezsl.methods import make_method
    from aezsl.serving.trained import TrainedModel

    model = _kept(network)
    if not together:
        return model
    return TrainedModel(make_method("aezsl_heads_t").set_state(model.model.get_state()), model.recipe, model.confidence)


@cache
def _kept(network: str) -> "TrainedModel":
    from aezsl.serving.model_file import load_trained, save_trained

    path = cached_file(network)
    try:
        return load_trained(path)
    except DataError:  # not there yet, damaged, or of another version
        model = make_photo_model(network)
    try:
        save_trained(path, model)
    except OSError as error:  # a full disk or a home that cannot be written to: slower, but not wrong
        log.warning("the photo model could not be kept at %s (%s)", path, error)
    return model


def cached_file(network: str = NETWORK, backbone: Backbone | None = None) -> Path:
    """Where the model is kept: its name changes with the version of the package and of the network's weights."""
    key = json.dumps([__version__, KNOWLEDGE, network, (backbone or make_backbone(network)).fingerprint])
    name = f"photos-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    return graph_folder().with_name("knowledge") / name


def make_photo_model(network: str = NETWORK) -> "TrainedModel":
    """The model from its parts: the network's classifiers, vectors of their descriptions, how to embed labels."""
    import pandas as pd

    from aezsl.data.normalise import Normaliser
    from aezsl.encoders.knowledge import seen_classifiers
    from aezsl.encoders.knowledge.heads import named_classifiers
    from aezsl.encoders.recipe import Recipe
    from aezsl.encoders.texts.fingerprints import with_fingerprints
    from aezsl.methods.heads.methods import AEZSLHeads
    from aezsl.serving.trained import TrainedModel

    named = named_classifiers(network)
    seen = seen_classifiers(named)
    recipe = Recipe(
        backbone={
            "parts": [{"backbone": network, "weights": "default", "layer": None}],
            "fingerprint": make_backbone(network).fingerprint,
        },
        features=Normaliser(),
        semantics=Normaliser(),
        sources=with_fingerprints([{"kind": "text", "encoder": encoder} for encoder in ENCODERS]),
        attribute_names=[],
        # Classes have no names that a user would type: a label means its own words, also where a class has that name.
        classes=pd.DataFrame(
            {
                "class_name": [f"class {number}: {name}" for number, name in enumerate(named.names)],
                "role": "seen",
                "text": list(named.descriptions),
            }
        ),
        class_vectors=seen.S.astype(np.float32),
        example=np.maximum(seen.rows[:2], 0).astype(np.float32),
    )
    return TrainedModel(AEZSLHeads().fit(seen), recipe, CONFIDENCE)


#: Found on photos of ImageNet's classes that were held out (``python -m tests.benchmarks.bench_photo_choice``).
#: With this temperature probabilities hold: the calibration error is 1.6%. The threshold is for one photo of four that
#: shows none of the labels: it keeps four of five right names, and refuses seven of ten photos without their label.
#: Yes and no: found on the same classes (``python -m tests.benchmarks.bench_yes_no choose``).
CONFIDENCE = Confidence(temperature=1.0, threshold=0.45, yes_no=YesNo(intercept=0.968, score=0.742, rival=0.252))


@dataclass(frozen=True)
class Named:
    """The names of a photo, or of all photos of a folder."""

    paths: list[str]
    shown: list[str]  # the same, below the folder where there is one
    answers: Answers
    none: bool  # whether "none of these" may be said
    unreadable: dict[str, str]  # path -> why
    warnings: list[str]  # what a user should know before he trusts the names
    corrected: frozenset[int] = frozenset()  # places of photos that somebody has named
    worth_a_look: tuple[int, ...] = ()  # places, where it was asked for
    confused: tuple["Confused", ...] = ()  # pairs of labels, likewise

    @property
    def names(self) -> list[str]:
        """What every photo is called, several labels with commas between them; "none of these" where that is so."""
        return [", ".join(said) or NONE_OF_THESE for said in self.answers.said(self.none)]


def name_one_photo(photo: Path, labels: Any, model: Any, device: str, multi: bool) -> Named | None:
    """The names of one photo; None where that takes more than there is here: ask ``name_images``."""
    names = plain_names(labels)
    if not names or model not in (None, PHOTOS) or not photo.is_file():
        return None
    plain, foreign = read_labels(names)
    if len(set(plain)) < len(plain):
        return None
    backbone = make_backbone(NETWORK, device=device)
    if (kept := _kept_model(cached_file(NETWORK, backbone))) is None:
        return None
    formula, confidence = kept
    X = load_encode([backbone])([photo]).astype(np.float64)
    A = np.hstack([unit_rows(part) for part in label_parts(plain, foreign=foreign)]).astype(np.float64)
    scores = formula.scores(X, **formula.target_parts(A))
    if not multi:
        ranking, temperature = top_k(scores, len(names)), confidence.temperature or 1.0
        answers = Answers.make(ranking, names, temperature, confidence.threshold, groups_of(found_by_name(plain)))
    elif confidence.yes_no:
        answers = Answers.each(scores, names, confidence.yes_no.probabilities(scores, formula.rivals(X)))
    doubts = doubts_in_words(names, formula.doubts(A, foreign), multi)
    return Named([str(photo)], [str(photo)], answers, NONE_OF_THESE not in names, {}, doubts)


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
    if not all(0 < len(name) <= LONGEST_CLASS_NAME for name in names):
        return None
    return names if len({alike_as(name) for name in names}) == len(names) else None


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
