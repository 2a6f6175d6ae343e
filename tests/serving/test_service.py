"""The service: many clients at once, each with classes of its own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from aezsl.methods import make_method
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe


def table(vectors, names):
    """A table of classes as a request holds it."""
    frame = pd.DataFrame(vectors, columns=[f"a{i}" for i in range(vectors.shape[1])])
    return frame.assign(class_name=names).to_csv(index=False)


@pytest.mark.parametrize("name", ["aezsl", "aezsl_lr", "aezsl_t", "exem"])
def test_eight_clients_get_the_answers_of_one(name):
    recipe, data = make_recipe()
    model = make_method(name).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    served = ServedModel(TrainedModel(model, recipe))
    rng = np.random.default_rng(0)
    requests = []
    for client in range(8):
        classes = rng.permutation(len(data.S_new))[:4]
        rows = pd.DataFrame({"features": data.X_new[rng.permutation(len(data.X_new))[:20]].tolist()})
        requests.append((rows, {"classes": table(data.S_new[classes], [f"{client}-{c}" for c in classes])}))
    expected = [served.predict(*request) for request in requests]
    for client, answer in enumerate(expected):
        assert answer["predicted"].str.startswith(f"{client}-").all()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: served.predict(*requests[i % 8]), range(64)))
    for i, answer in enumerate(answers):
        assert answer["top"].tolist() == expected[i % 8]["top"].tolist()
        np.testing.assert_allclose(answer["score"], expected[i % 8]["score"], rtol=1e-6, atol=1e-9)
