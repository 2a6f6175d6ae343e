"""A project in miniature for the page: classes are colours, photos are plain, and a photo's features are its pixels."""

from io import BytesIO

import numpy as np
import pandas as pd
from PIL import Image
from starlette.testclient import TestClient

from aezsl.app.library import Place
from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts.semantics import embed_classes
from aezsl.formats.images import read_image
from aezsl.methods import make_method
from aezsl.serving.model_file import save_trained
from aezsl.serving.trained import TrainedModel

COLOURS = {
    "ruby": ("seen", "red dark", (200, 0, 0)),
    "grass": ("seen", "green dark", (0, 200, 0)),
    "sea": ("seen", "blue dark", (0, 0, 200)),
    "rose": ("seen", "red pale", (255, 120, 120)),
    "mint": ("seen", "green pale", (120, 255, 120)),
    "sky": ("seen", "blue pale", (120, 120, 255)),
    "plum": ("unseen", "red blue dark", (200, 0, 200)),
    "lemon": ("unseen", "red green pale", (255, 255, 120)),
    "teal": ("unseen", "green blue dark", (0, 200, 200)),
}
#: Where the page is opened, as a browser would say it.
ADDRESS = "http://127.0.0.1:7860"
TEXT = [{"kind": "bag_of_words"}]

#: A model that was trained on colours, and the classes that it has not seen.
MODEL = "colours/eszsl"
NEW = [[name, text] for name, (role, text, _) in COLOURS.items() if role == "unseen"]


def picture(name, shade=0):
    """The content of a photo of a class."""
    content = BytesIO()
    Image.new("RGB", (8, 8), tuple(min(255, part + shade) for part in COLOURS[name][2])).save(content, "PNG")
    return content.getvalue()


def encode(images):
    """In place of a network: the colour of each image, twice."""
    pictures = [read_image(image) for image in images]
    rows = [np.asarray(picture.resize((1, 2)), dtype=np.float32).reshape(-1) / 255 for picture in pictures]
    return np.array(rows)


def visit(app):
    """Somebody who has opened the page."""
    client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=False)
    client.headers["X-Visitor"] = client.post("/api/models", json={}).json()["visitor"]
    return client


def make_place(folder, methods=("eszsl",), sources=TEXT):
    """Models of colours, and pictures of all of them, as a project keeps them."""
    classes = pd.DataFrame([(n, r, t) for n, (r, t, _) in COLOURS.items()], columns=["class_name", "role", "text"])
    images = []
    for name, (role, _, _) in COLOURS.items():
        for shade in (0, 5, 10):
            path = folder / "images" / f"{name}-{shade}.png"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(picture(name, shade))
            images.append((path.stem, name, str(path), "test" if role == "unseen" else "train"))
    table = pd.DataFrame(images, columns=["image_id", "class_name", "path", "zsl"])
    tables = folder / "03_primary" / "colours"
    tables.mkdir(parents=True)
    table[["image_id", "class_name", "path"]].to_parquet(tables / "images.parquet")
    table[["image_id", "class_name", "zsl"]].to_parquet(tables / "split.parquet")
    seen = classes["role"] == "seen"
    X = encode(table.loc[table["zsl"] == "train", "path"]).astype(float)
    attributes = np.array([[part / 255 for part in colour] for _, _, colour in COLOURS.values()])
    by_text = sources == TEXT
    vectors = embed_classes(classes, TEXT) if by_text else attributes.astype(np.float32)
    recipe = Recipe(
        backbone={"parts": [{"backbone": "resnet18", "weights": "random", "layer": None}], "fingerprint": "pixels"},
        features=fit_normaliser([], X)[0],
        semantics=fit_normaliser([], vectors[seen].astype(float))[0],
        sources=sources,
        attribute_names=[] if by_text else ["red", "green", "blue"],
        classes=classes if by_text else classes.drop(columns="text"),
        class_vectors=vectors,
        example=X[:2],
    )
    y = np.repeat(np.arange(seen.sum()), 3)
    for method in methods:
        model = make_method(method).fit(X, y, vectors[seen].astype(float))
        (folder / "06_models" / "colours" / method).mkdir(parents=True)
        save_trained(folder / "06_models" / "colours" / method / "model.npz", TrainedModel(model, recipe))
    return Place(folder, folder / "06_models" / "colours", tables, methods[0])


def ask(page, question, status=200, **about):
    answer = page.post(f"/api/{question}", json={"model": MODEL, **about})
    assert answer.status_code == status, answer.text
    return answer.json()


def send(page, content, model=MODEL, status=200):
    answer = page.post(f"/api/photo?model={model}", content=content)
    assert answer.status_code == status, answer.text
    return answer.json()


def refused(page, question, **about):
    return ask(page, question, status=400, **about)["error"]


def best(page, photo, classes, **about):
    return [answer["names"][0] for answer in ask(page, "scores", photos=[photo], classes=classes, **about)["answers"]]
