"""Model files of every method, spoilt: refused, or a model that answers as before, in bounded memory."""

import io
import json
import struct
import tempfile
import tracemalloc
import zipfile
from contextlib import contextmanager
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
        _spoil(path, rng)
        with bounded(path.stat().st_size):
            loaded = load_trained(path)
        found = loaded.answer(data.X_new[:5], model.recipe.targets()).table()
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
        _spoil(path, rng)
        with bounded(path.stat().st_size):
            loaded = load_classifier(path)
        found, expected = loaded.scores(X), classifier.scores(X)
    return same_numbers(found, expected, 1e-5)


@contextmanager
def bounded(size):
    """An error, which is none of the project's, where more memory was taken than a file of that size may need."""
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if peak > 1.5 * size + 200 * 2**20:
            raise MemoryError(f"{peak} bytes for a file of {size}")


def _spoil(path, rng):
    """Change the file: its bytes, its structure as an archive, an array, or an entry of its header."""
    kind = rng.random()
    if kind < 0.3:
        path.write_bytes(damaged(path.read_bytes(), rng))
        return
    if kind < 0.6:
        _spoil_archive(path, rng)
        return
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(str(arrays.pop("header")))
    if rng.random() < 0.5:
        _spoil_arrays(arrays, header, rng)
    else:
        header = _spoil_header(header, rng)
    np.savez(path, header=np.array(json.dumps(header, default=str)), **arrays)


#: Places of numbers in an entry of an archive's directory: flags, method, sizes, lengths of names, offset.
FIELDS = (("<H", 8), ("<H", 10), ("<I", 16), ("<I", 20), ("<I", 24), ("<H", 28), ("<H", 30), ("<H", 32), ("<I", 42))


def _spoil_archive(path, rng):
    """Members packed, doubled, renamed, grown or taken out; numbers of the directory; shapes that arrays claim."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name, case = pick(rng, members), rng.integers(8)
    if case < 3:
        content = bytearray(path.read_bytes())
        starts = [at for at in range(len(content)) if content[at : at + 4] == b"PK\x01\x02"]
        form, place = pick(rng, FIELDS)
        value = pick(rng, (0, 1, 2, 8, 12, 2**15, 2**16 - 1, *((2**31, 2**32 - 1) if form == "<I" else ())))
        struct.pack_into(form, content, pick(rng, starts) + place, value)
        path.write_bytes(content)
        return
    if case == 3:
        members[name] = _other_shape(members[name], rng)
    if case == 4:
        members[pick(rng, (f"../{name}", "x.npy", "x.txt", f"/tmp/{name}", "header.npy"))] = members.pop(name)
    if case == 5:
        members[f"{name[:-4]}.x.npy"] = bytes(20 * 2**20)
    if case == 6:
        members[name] = members[name] + bytes(int(rng.integers(1, 9)))
    packed = zipfile.ZIP_DEFLATED if case in (5, 7) else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", packed) as file:
        for one, content in members.items():
            file.writestr(one, content)


def _other_shape(content, rng):
    """An array whose head says that it is larger, smaller, or of another type."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    shape, order, dtype = np.lib.format.read_array_header_1_0(file)
    shape = pick(rng, ((10**12,), (2**33, 2**33), (), (0,), (*shape, 2), shape[1:]))
    descr = pick(rng, (dtype.str, dtype.str, "<f8", "|O", "<U99999", "|V8"))
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": order, "shape": shape})
    return head.getvalue() + file.read()


def _spoil_arrays(arrays, header, rng):
    """One array changed; often its description in the header too: the digest tells it."""
    key = pick(rng, arrays)
    array = arrays[key]
    match rng.integers(7):
        case 0:
            del arrays[key]
        case 1:
            arrays[key] = array[:-1] if array.ndim else array[None]
        case 2:
            arrays[key] = array * np.nan if array.dtype.kind == "f" else np.full(array.shape, 0.5)
        case 3:
            arrays[key] = array.T if array.ndim == 2 else array[..., None]
        case 4:
            arrays[key] = array.astype(str)
        case 5:
            arrays[key] = array[..., :0] if array.ndim else array
        case _:
            part = pick(rng, ("model", "recipe", "classifier", "x"))
            arrays[f"{part}.{pick(rng, ('predict', '_adapt', '__class__', 'x_'))}"] = array
    if rng.random() < 0.7:
        header["arrays"] = {
            name: f"{a.dtype.str} of shape {'x'.join(map(str, a.shape)) or 'one'}" for name, a in arrays.items()
        }


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
