"""The photo model: names any photo by any words. It needs no training image and no training.

Its seen classes are the 1,000 classifiers in the last layer of the network that is installed with the package
(``aezsl.encoders.knowledge``); its method is ``AEZSLHeads``, for a folder as a whole ``AEZSLHeadsT``. It is a trained
model like any other: ``classify``, the page, the service and ``export`` take it.
"""

import hashlib
import json
import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aezsl import __version__
from aezsl.encoders.images.backbones import Backbone, make_backbone
from aezsl.encoders.images.engine import graph_folder
from aezsl.errors import DataError
from aezsl.evaluation.confidence import Confidence
from aezsl.evaluation.yes_no import YesNo

if TYPE_CHECKING:
    from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

#: What users call it.
PHOTOS = "photos"

#: The network whose classifiers it knows.
NETWORK = "efficientnet_lite0"

#: Raised whenever the same parts would give another model.
VERSION = 2


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
    key = json.dumps([__version__, VERSION, network, (backbone or make_backbone(network)).fingerprint])
    name = f"photos-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    return graph_folder().with_name("knowledge") / name


def make_photo_model(network: str = NETWORK) -> "TrainedModel":
    """The model from its parts: the network's classifiers, vectors of their descriptions, how to embed labels."""
    import pandas as pd

    from aezsl.data.normalise import Normaliser
    from aezsl.encoders.knowledge import ENCODERS, seen_classifiers
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
