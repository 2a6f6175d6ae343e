"""A recipe for the synthetic problem."""

import numpy as np
import pandas as pd

from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.recipe import Recipe
from tests.synthetic import make_synthetic


def make_recipe(**changes):
    data = make_synthetic()
    n_seen, n_unseen = len(data.S), len(data.S_new)
    vectors = np.vstack([data.S, data.S_new])
    classes = pd.DataFrame({"class_name": [f"class{c}" for c in range(n_seen + n_unseen)]})
    parts = {
        "backbone": {"parts": [{"backbone": "resnet18", "weights": "random", "layer": None}], "fingerprint": ""},
        "features": fit_normaliser(["standardise", "l2"], data.X)[0],
        "semantics": fit_normaliser(["centre"], data.S)[0],
        "sources": [{"kind": "attributes"}],
        "attribute_names": [f"a{i}" for i in range(vectors.shape[1])],
        "classes": classes.assign(role=["seen"] * n_seen + ["unseen"] * n_unseen),
        "class_vectors": vectors,
        "example": data.X[:2],
    }
    return Recipe(**(parts | changes)), data
