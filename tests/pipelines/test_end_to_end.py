"""Training from images as a user types it, on a handful of real drawings."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from aezsl.formats.emoji import Emoji
from aezsl.formats.images import read_image
from aezsl.serving.model_file import load_trained

SEEN, UNSEEN = ("dog", "cat", "banana", "tangerine"), ("horse", "peach")
ATTRIBUTES = {
    "dog": (1, 0, 0, 0.5),
    "cat": (1, 0, 0.2, 0.2),
    "horse": (0.8, 0, 0, 1),
    "banana": (0, 1, 0, 0.1),
    "tangerine": (0, 1, 1, 0.1),
    "peach": (0.1, 1, 0.7, 0.1),
}


@pytest.fixture(scope="module")
def project(make_project):
    project = make_project()
    root = project.folder / "data/01_raw/own"
    drawings = Emoji().read().images.groupby("class_name")["path"]
    for name in SEEN + UNSEEN:
        (root / "images" / name).mkdir(parents=True)
        for number, file in enumerate(drawings.get_group(name).head(2)):
            shutil.copy(file, root / "images" / name / f"{number}.png")
    rows = [(name, "seen" if name in SEEN else "unseen", *ATTRIBUTES[name]) for name in SEEN + UNSEEN]
    table = pd.DataFrame(rows, columns=["class_name", "role", "furry", "round", "orange", "large"])
    table.to_csv(root / "classes.csv", index=False)
    given = "end_to_end.weights=random,daezsl.epochs=2,daezsl.validation_fraction=0"
    project.kedro("run", "--env=own", "--pipeline=daezsl_end_to_end", f"--params={given}")
    return project


def test_one_command_trains_extracts_and_evaluates(project):
    reporting = project.folder / "data/08_reporting/own/daezsl_end_to_end"
    metrics = json.loads((reporting / "metrics.json").read_text())
    predictions = pd.read_parquet(project.folder / "data/07_model_output/own/daezsl_end_to_end/predictions.parquet")
    assert metrics["hit_at_1"] == (predictions["true"] == predictions["predicted"]).mean()
    assert sorted(predictions["true"]) == sorted(2 * UNSEEN)
    history = pd.read_csv(reporting / "training_history.csv")
    assert history["loss"].is_monotonic_decreasing
    models = project.folder / "data/06_models/own/daezsl_end_to_end"
    weights = torch.load(models / "encoder.pt", weights_only=True)
    assert {"conv1.conv.weight", "fc.weight", "aux1.fc1.weight"} <= set(weights)
    assert not list((models / "checkpoint").glob("*"))
    run = project.runs()[0]
    assert "epoch.loss" in run.data.metrics
    assert run.data.tags["n_features"] == "1024"


def test_the_recipe_finds_the_network_that_was_trained(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    folder = Path("data/06_models/own/daezsl_end_to_end")
    trained = load_trained(folder / "model.npz")
    recipe = trained.recipe
    expected = pd.read_parquet("data/07_model_output/own/daezsl_end_to_end/predictions.parquet")
    images = pd.read_parquet("data/03_primary/own/images.parquet").set_index("image_id").loc[expected["image_id"]]
    preprocess, run = recipe.make_encoder().backbones[0].load()
    features = run(np.stack([preprocess(read_image(path)) for path in images["path"]]))
    named = trained.answer(features, recipe.targets())
    assert named.predicted.tolist() == expected["predicted"].tolist()
    np.testing.assert_allclose(named.scores[:, 0], expected["score"], rtol=1e-4, atol=1e-6)
