"""Model files of every method, spoilt: refused, or a model that answers as before.

Where arrays were changed and the list of arrays in the header with them, the file may be whole again: another model,
which nobody can tell from one that was trained so. Of that only finite answers are expected.
"""

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from aezsl.data.normalise import fit_normaliser
from aezsl.methods import METHODS, make_method
from aezsl.serving.model_file import load_classifier, load_trained, save_classifier, save_trained
from aezsl.serving.trained import TrainedModel
from tests.campaign.damage import damaged, pick, plain_value, same_numbers
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_pair

#: Parameters with which a method is fitted in a moment.
QUICK = {"daezsl": {"epochs": 2}, "eszsl_net": {"epochs": 2}}


@cache
def trained(name):
    """A small fitted model with its recipe, and data."""
    recipe, data = make_recipe()
    if METHODS[name].paired:
        data = make_pair()
        vectors = np.vstack([data.S, data.S_new])
        steps = {
            part: fit_normaliser(["l2"], array)[0] for part, array in (("features", data.X), ("semantics", data.S))
        }
        recipe = make_recipe(class_vectors=vectors, example=data.X[:2], attribute_names=[], **steps)[0]
    model = make_method(name, **QUICK.get(name, {})).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    return TrainedModel(model, recipe), data


@cache
def _answers(name):
    model, data = trained(name)
    return model.answer(data.X_new[:5], model.recipe.targets()).table()


def model_file(rng):
    """A trained model whose bytes, header or arrays were changed."""
    name = pick(rng, METHODS)
    model, data = trained(name)
    expected = _answers(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        save_trained(path, model)
        rewritten = _spoil(path, rng)
        found = load_trained(path).answer(data.X_new[:5], model.recipe.targets()).table()
    if rewritten:
        return len(found) == len(expected) and bool(np.isfinite(found["score"]).all())
    return found["predicted"].tolist() == expected["predicted"].tolist() and same_numbers(
        found["score"], expected["score"]
    )


def classifier_file(rng):
    """An adapted classifier whose bytes, header or arrays were changed."""
    name = pick(rng, METHODS)
    model, data = trained(name)
    X = model.recipe.features(data.X_new)
    classifier = model.model.adapt(model.recipe.targets().vectors, X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.npz"
        save_classifier(path, classifier)
        rewritten = _spoil(path, rng)
        found, expected = load_classifier(path).scores(X), classifier.scores(X)
    if rewritten:
        return len(found) == len(expected) and bool(np.isfinite(found).all())
    return same_numbers(found, expected, 1e-5)


def _spoil(path, rng):
    """Change the file; whether its list of arrays was written again."""
    if rng.random() < 0.4:
        path.write_bytes(damaged(path.read_bytes(), rng))
        return False
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(str(arrays.pop("header")))
    rewritten = False
    if rng.random() < 0.5:
        rewritten = _spoil_arrays(arrays, header, rng)
    else:
        header = _spoil_header(header, rng)
    np.savez(path, header=np.array(json.dumps(header, default=str)), **arrays)
    return rewritten


def _spoil_arrays(arrays, header, rng):
    """One array changed; often its description in the header too, as a stranger who means ill would."""
    key = pick(rng, arrays)
    array = arrays[key]
    match rng.integers(7):
        case 0:
            del arrays[key]
        case 1:
            arrays[key] = array[:-1] if array.ndim else array[None]
        case 2:
            arrays[key] = array * np.nan if array.dtype.kind == "f" else array.astype(np.float64)
        case 3:
            arrays[key] = array.T if array.ndim == 2 else array[..., None]
        case 4:
            arrays[key] = array.astype(str)
        case 5:
            arrays[key] = array[..., :0] if array.ndim else array
        case _:
            part = pick(rng, ("model", "recipe", "classifier", "x"))
            arrays[f"{part}.{pick(rng, ('predict', '_adapt', '__class__', 'x_'))}"] = array
    if rewritten := rng.random() < 0.7:
        header["arrays"] = {
            name: f"{a.dtype.str} of shape {'x'.join(map(str, a.shape)) or 'one'}" for name, a in arrays.items()
        }
    return rewritten


def _spoil_header(header, rng):
    place, key = header, pick(rng, header)
    while isinstance(place[key], dict) and place[key] and rng.random() < 0.7:
        place, key = place[key], pick(rng, place[key])
    match rng.integers(3):
        case 0:
            del place[key]
        case 1:
            place[key] = plain_value(rng)
        case _:
            place[f"{key}_"] = place[key]
    return header
