"""Own images beside what a network knows, with any number of own seen classes."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aezsl.serving.classes import find_classes
from aezsl.serving.model_file import load_trained
from aezsl.serving.photos import photo_model

COLOURS = {"grass": (0, 1, 0), "sky": (0, 0, 1), "snow": (1, 1, 1), "coal": (0, 0, 0.1), "orange": (1, 0.5, 0)}
SEEN = {**COLOURS, "cherry": (1, 0, 0)}
UNSEEN = {"lemon": (1, 1, 0), "jeans": (0, 0, 0.5)}


@pytest.fixture(scope="module")
def project(make_project):
    return make_project()


def make_data(project, name, n_seen, numbers=False):
    """A folder of colours with some seen classes, described by a text or by numbers."""
    rng, root = np.random.default_rng(0), project.folder / "data/01_raw" / name
    rows = []
    for kind, colour in (*list(SEEN.items())[:n_seen], *UNSEEN.items()):
        role = "unseen" if kind in UNSEEN else "seen"
        described = colour if numbers else (f"{kind}, as far as one can see",)
        rows.append((kind, role, *described))
        (root / "images" / kind).mkdir(parents=True)
        for i in range(3):
            pixels = 255 * np.array(colour) + rng.normal(0, 20, (48, 48, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(root / "images" / kind / f"{i}.png")
    columns = ["class_name", "role", *(["r", "g", "b"] if numbers else ["description"])]
    pd.DataFrame(rows, columns=columns).to_csv(root / "classes.csv", index=False)


def run(project, name, pipeline="photos_own", more="", check=True):
    params = f"--params=own.name={name},own.root=data/01_raw/{name}{more}"
    return project.kedro("run", "--env=own", f"--pipeline={pipeline}", params, check=check)


def trained(project, name):
    return load_trained(project.folder / f"data/06_models/{name}/photos_own/model.npz")


@pytest.mark.parametrize("n_seen", [0, 3])
def test_any_number_of_own_seen_classes_will_do(project, n_seen):
    name = f"seen{n_seen}"
    make_data(project, name, n_seen)
    run(project, name)
    model, known = trained(project, name), photo_model()
    assert len(model.model.seen_.rows) == len(known.model.seen_.rows) + n_seen
    predictions = pd.read_parquet(project.folder / f"data/07_model_output/{name}/photos_own/predictions.parquet")
    assert len(predictions) == 6
    assert set(predictions["predicted"]) <= set(UNSEEN)
    if not n_seen:
        X, labels = np.random.default_rng(0).random((4, 1280)), ["a lemon", "a pair of jeans"]
        own, its = (one.answer(X, find_classes(one.recipe, labels)).table() for one in (model, known))
        pd.testing.assert_frame_equal(pd.DataFrame(own), pd.DataFrame(its))


def test_photos_that_nobody_has_named_end_with_what_can_be_said(project):
    make_data(project, "unnamed", 1)
    images = project.folder / "data/01_raw/unnamed/images"
    (images / "_unlabelled").mkdir()
    for kind in UNSEEN:
        for path in (images / kind).iterdir():
            path.rename(images / "_unlabelled" / f"{kind} {path.name}")
    told = run(project, "unnamed").stdout
    assert "no accuracy: there are no test images with labels" in told
    assert "predictions.csv" in told
    assert "reliability_curve.png" not in told  # nothing is drawn there


def test_known_and_new_classes_together(project):
    make_data(project, "both", 3)
    run(project, "both", "gzsl_photos_own")
    metrics = json.loads((project.folder / "data/08_reporting/both/gzsl_photos_own/metrics.json").read_text())
    assert metrics["gzsl_seen"] == 1
    assert metrics["gzsl_harmonic_calibrated"] == metrics["gzsl_harmonic"]  # nothing is subtracted


def test_numbers_instead_of_texts_leave_own_classes_only(project):
    make_data(project, "numbers", 4, numbers=True)
    assert "only your own classes are seen ones" in run(project, "numbers").stdout
    assert len(trained(project, "numbers").model.seen_.rows) == 4
    make_data(project, "one", 1, numbers=True)
    assert run(project, "one", check=False).returncode == 1


def test_knowledge_of_networks_can_be_left_out(project):
    make_data(project, "none", 4)
    run(project, "none", more=",own.knowledge=none")
    assert len(trained(project, "none").model.seen_.rows) == 4
