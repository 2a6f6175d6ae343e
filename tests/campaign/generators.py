"""Seeded bad inputs: each function makes one attempt from a generator of random numbers."""

import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from aezsl.formats.class_table import read_class_table
from aezsl.formats.feature_files import import_features
from aezsl.formats.images import read_image
from aezsl.methods import METHODS, make_method
from aezsl.serving.model_file import load_trained, save_trained
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic

KINDS = ("PNG", "TIFF", "JPEG", "WEBP", "GIF", "BMP")


def damaged(data, rng):
    """Bytes overwritten, cut off, doubled or taken out."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        if not data:
            break
        at = int(rng.integers(len(data)))
        change = rng.integers(4)
        if change == 0:
            data[at] = rng.integers(256)
        elif change == 1:
            data = data[:at]
        elif change == 2:
            data[at:at] = data[at : at + int(rng.integers(1, 40))]
        else:
            del data[at : at + int(rng.integers(1, 40))]
    return bytes(data)


def image(rng):
    """A damaged image file: any answer is RGB; a picture that was not touched is seen as it is."""
    pixels = rng.integers(256, size=(int(rng.integers(1, 40)), int(rng.integers(1, 40)), 3), dtype=np.uint8)
    buffer = io.BytesIO()
    kind = KINDS[rng.integers(len(KINDS))]
    Image.fromarray(pixels).save(buffer, kind)
    if rng.random() < 0.1 and kind in ("PNG", "TIFF", "BMP"):
        return bool((np.asarray(read_image(buffer.getvalue())) == pixels).all())
    return read_image(damaged(buffer.getvalue(), rng)).mode == "RGB"


def deep_image(rng):
    """Grey values of any depth keep their order."""
    dtype, top = [(np.uint16, 65535), (np.int32, 65535), (np.float32, 1.0)][rng.integers(3)]
    values = np.sort(rng.random((1, 64)) * top).astype(dtype)
    values[0, -1] = top
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "TIFF")
    seen = np.asarray(read_image(buffer.getvalue()))[0, :, 0].astype(int)
    return bool((np.diff(seen) >= 0).all() and np.abs(seen - values[0] / top * 255).max() <= 1)


def class_table(rng):
    """A table with one thing wrong, or none; what is accepted has the attributes that were meant."""
    names = [f"c{i}" for i in range(int(rng.integers(2, 9)))]
    meant = pd.DataFrame({"legs": rng.integers(0, 9, len(names)), "size": rng.random(len(names)).round(3)})
    frame = meant.assign(class_name=names)
    change = rng.integers(9)
    if change == 0:
        text = frame.to_csv()  # with its index
    elif change == 1:
        text = frame.assign(**{["id", "Index", "nr", "no."][rng.integers(4)]: rng.permutation(len(names))}).to_csv(
            index=False
        )
    elif change == 2:
        header = ["legs", "legs", "class_name"] if rng.random() < 0.5 else ["legs", " legs ", "class_name"]
        text = frame.to_csv(index=False, header=header)
    elif change == 3:
        text = frame.assign(size=[["1e39", "inf", "nan", "x", "1e-60", ""][rng.integers(6)]] * len(names)).to_csv(
            index=False
        )
    elif change == 4:
        text = frame.to_csv(index=False, sep=";\t,"[rng.integers(3)])
    elif change == 5:
        text = damaged(frame.to_csv(index=False).encode(), rng).decode(errors="replace")
        read_class_table(Path("classes.csv"), text)
        return True  # what was typed may be another table
    elif change == 6:
        text = pd.concat([frame, frame.head(1)]).to_csv(index=False)
    elif change == 7:
        text = frame.assign(counted=range(len(names))).to_csv(index=False)
        meant = meant.assign(counted=range(len(names))) if len(names) < 5 else None
    else:
        text = frame.to_csv(index=False)
    classes, attributes = read_class_table(Path("classes.csv"), text)
    if meant is None or list(attributes) != list(meant.columns) or list(classes["class_name"]) != names:
        return False
    return bool(np.allclose(np.vstack(classes["attributes"].tolist()), meant.to_numpy(), rtol=1e-6))


class _Store:
    def __init__(self):
        self.values = {}

    def known(self, fingerprint):
        return {}

    def add(self, chunk):
        self.values |= dict(zip(chunk.ids, chunk.vectors, strict=True))


def feature_file(rng):
    """A file of features with one thing wrong, or none; every image keeps its own vector."""
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    ids, X = [f"i{i}" for i in range(n)], rng.random((n, d))
    images = pd.DataFrame({"image_id": ids, "path": "", "class_name": "x"})
    order = rng.permutation(n)
    vectors, names = [X[i].tolist() for i in order], [ids[i] for i in order]
    change = rng.integers(8)
    if change == 0:
        vectors[rng.integers(n)] = [0.5] * (d + int(rng.integers(1, 4)) * (1 if rng.random() < 0.5 or d < 4 else -1))
    elif change == 1:
        vectors[rng.integers(n)] = None
    elif change == 2:
        names[0] = names[-1]
    elif change == 3:
        vectors[0] = [float("nan")] * d
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"x.{('npz', 'parquet')[rng.integers(2)]}"
        if file.suffix == ".parquet" or change in (0, 1):
            file = file.with_suffix(".parquet")
            pq.write_table(pa.table({"image_id": names, "vector": vectors}), file)
        else:
            np.savez(file, X=np.array(vectors), image_id=np.array(names[: n - int(change == 4)]))
        if change in (5, 6):
            file.write_bytes(damaged(file.read_bytes(), rng))
        store = _Store()
        import_features(images, str(file), store)
    return all(np.allclose(store.values[i], x, rtol=1e-6) for i, x in zip(ids, X, strict=True))


_TRAINED = {}


def trained(name="eszsl"):
    """A small fitted model with its recipe."""
    if name not in _TRAINED:
        recipe, data = make_recipe()
        model = make_method(name).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
        _TRAINED[name] = TrainedModel(model, recipe), data
    return _TRAINED[name]


def model_file(rng):
    """A model file whose bytes, header or arrays were changed; what loads answers as before."""
    model, data = trained(("eszsl", "aezsl", "conse", "exem")[rng.integers(4)])
    expected = model.classify(data.X_new[:5], model.recipe.targets())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        save_trained(path, model)
        if rng.random() < 0.5:
            path.write_bytes(damaged(path.read_bytes(), rng))
        else:
            with np.load(path) as file:
                arrays = {key: file[key] for key in file.files}
            header = json.loads(str(arrays.pop("header")))
            key = list(arrays)[rng.integers(len(arrays))]
            change = rng.integers(5)
            if change == 0:
                del arrays[key]
            elif change == 1:
                arrays[key] = arrays[key][:-1] if arrays[key].ndim else arrays[key]
            elif change == 2:
                arrays[key] = arrays[key] * np.nan
            elif change == 3:
                del header[list(header)[rng.integers(len(header))]]
            else:
                arrays[f"model.{['predict', '_adapt', '__class__', 'x'][rng.integers(4)]}"] = np.zeros(2)
            np.savez(path, header=np.array(json.dumps(header)), **arrays)
        found = load_trained(path).classify(data.X_new[:5], model.recipe.targets())
    return expected["predicted"].tolist() == found["predicted"].tolist() and np.allclose(
        expected["score"], found["score"]
    )


def request(rng):
    """A request with something odd in it; what is answered has a finite score per row."""
    model, data = trained()
    width = data.X.shape[1]
    values = [rng.random(width).tolist(), [1.0], 1.0, "x", None, [None] * width, ["1"] * width, [1e400] * width, []]
    rows = pd.DataFrame(
        {
            ["features", "path", "image", "fetaures"][rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]: [
                values[rng.choice(len(values), p=[0.6, *[0.05] * 8])] for _ in range(int(rng.integers(0, 4)))
            ]
        }
    )
    classes = [
        "",
        "class_name\nclass1\nclass2",
        ["class1", "class2"],
        [{"class_name": "x"}],
        "nonsense",
        [1],
        {},
        7,
        "[",
        "class_name,a0\nx,1",
        ["class1"] * 2,
        "class_name\n" + "y" * 10**6,
    ]
    params = {
        ["classes", "klasses", "Classes"][rng.choice(3, p=[0.9, 0.05, 0.05])]: classes[rng.integers(len(classes))]
    }
    if rng.random() < 0.5:
        params["top"] = [1, 3, 0, -1, 2.5, "2", None, 10**9][rng.integers(8)]
    answer = ServedModel(model).predict(rows, params)
    return len(answer) == len(rows) and bool(np.isfinite(answer["score"]).all())


def method(rng):
    """Data with one thing wrong; what is accepted is scored with numbers, and as clean data where they are the same."""
    name = list(METHODS)[rng.integers(len(METHODS))]
    params = {"epochs": 1} if "daezsl" in name or name == "eszsl_net" else {}
    data = make_synthetic(n_seen=6, n_unseen=3, per_class=4, d=8, a=5, seed=int(rng.integers(3)))
    X, y, S = data.X, data.y, data.S
    scale = 10.0 ** rng.integers(-300, 300)
    same = [np.asfortranarray, pd.DataFrame, lambda A: A.astype(object), np.ma.array, lambda A: A.tolist()]
    other = [
        lambda A: A * scale,
        lambda A: A + scale,
        lambda A: A + 1j,
        lambda A: A.astype(str),
        lambda A: A[:, :0],
        lambda A: A[0],
        lambda A: np.where(A > 0, np.nan, A),
        lambda A: np.ma.masked_less(A, 0.1),
        lambda A: A.astype("M8[s]"),
        lambda A: A[..., None],
        lambda A: None,
    ]
    clean = rng.random() < 0.3
    change = (same if clean else other)[rng.integers(len(same if clean else other))]
    if rng.random() < 0.5:
        X = change(X)
    else:
        S = change(S)
    scores = make_method(name, **params).fit(X, y, S).decision_function(data.X_new, data.S_new)
    if clean:
        expected = make_method(name, **params).fit(data.X, y, data.S).decision_function(data.X_new, data.S_new)
        return bool(np.allclose(scores, expected, rtol=1e-6, atol=1e-9))
    return bool(np.isfinite(scores).all())
