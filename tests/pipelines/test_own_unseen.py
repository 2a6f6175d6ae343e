"""Own images where nobody has a picture of an unseen class yet: train now, name images later."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

#: Colours as their share of red, green and blue.
SEEN = {
    "red": (1, 0, 0),
    "green": (0, 1, 0),
    "blue": (0, 0, 1),
    "white": (1, 1, 1),
    "black": (0, 0, 0.1),
    "orange": (1, 0.5, 0),
}
UNSEEN = {"yellow": (1, 1, 0), "navy": (0, 0, 0.5)}


def paint(path, colour, rng):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = 255 * np.array(colour) + rng.normal(0, 20, (64, 64, 3))
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def project(make_project):
    project = make_project()
    rng = np.random.default_rng(0)
    root = project.folder / "data/01_raw/own"
    for name, colour in SEEN.items():
        for i in range(4):
            paint(root / "images" / name / f"{i}.png", colour, rng)
    for name, colour in UNSEEN.items():
        paint(project.folder / "data/01_raw/new_images" / f"{name}.png", colour, rng)
    rows = [
        (name, role, *colour) for role, part in (("seen", SEEN), ("unseen", UNSEEN)) for name, colour in part.items()
    ]
    table = pd.DataFrame(rows, columns=["class_name", "role", "red", "green", "blue"])
    table.to_csv(root / "classes.csv", index=False)
    project.log = project.kedro("run", "--env=own", "--pipeline=eszsl_lr").stdout
    return project


def test_the_run_succeeds_and_says_what_it_did_not_do(project):
    assert "there are no images of unseen classes" in project.log
    assert "kedro run --env=own --pipeline=predict --params=method=eszsl_lr,predict.images=<folder>" in project.log
    assert "guessing gives 50%" in project.log
    assert "gallery.png" not in project.log  # it is of no image
    for method in ("eszsl", "eszsl_lr"):
        predictions = pd.read_parquet(project.folder / f"data/07_model_output/own/{method}/predictions.parquet")
        assert predictions.empty
        assert list(predictions.columns[:3]) == ["image_id", "true", "predicted"]
        assert json.loads((project.folder / f"data/08_reporting/own/{method}/metrics.json").read_text()) == {}
        assert f"{method}: no accuracy" in project.log
    assert pd.read_csv(project.folder / "data/08_reporting/own/eszsl_lr/refinement_history.csv").empty


def test_the_saved_model_names_images_that_come_later(project):
    params = "--params=method=eszsl,export.register=colours,predict.sorted=links"
    end = project.kedro("run", "--env=own", "--pipelines=predict,export", params).stdout
    assert "2 images named" in end
    assert "aezsl serve data/06_models/own/eszsl/mlflow_model" in end
    named = pd.read_parquet(project.folder / "data/07_model_output/own/eszsl/new_predictions.parquet")
    assert named["image_id"].tolist() == ["navy.png", "yellow.png"]
    assert named["predicted"].tolist() == ["navy", "yellow"]
    confidence = json.loads((project.folder / "data/06_models/own/eszsl/confidence.json").read_text())
    assert (named["probability"] < confidence["threshold"]).tolist() == named["none_of_these"].tolist()
    assert named[["top_1_probability", "top_2_probability"]].sum(axis=1).tolist() == pytest.approx([1, 1])
    links = list((project.folder / "data/07_model_output/own/eszsl/sorted").rglob("*.png"))
    assert {path.resolve().name for path in links} == {"navy.png", "yellow.png"}
    folder = project.folder / "data/06_models/own/eszsl"
    assert (folder / "mlflow_model/MLmodel").is_file()
    assert (folder / "README.md").read_text().startswith("---\nlibrary_name: aezsl\n")
    found = json.loads((project.folder / "data/08_reporting/own/eszsl/clip_benchmark.json").read_text())
    assert (found["dataset"], found["method"], found["metrics"]) == ("own", "eszsl", {})  # nothing was measured
    assert [version.version for version in project.registered("colours")] == [1]


def test_a_file_that_is_no_image_is_left_out_and_the_exit_code_tells(project):
    broken = project.folder / "data/01_raw/new_images/broken.png"
    broken.write_text("no image")
    end = project.kedro("run", "--env=own", "--pipeline=predict", "--params=method=eszsl", check=False)
    broken.unlink()
    assert end.returncode == 3
    assert "broken.png" in end.stdout
    named = pd.read_parquet(project.folder / "data/07_model_output/own/eszsl/new_predictions.parquet")
    assert named["image_id"].tolist() == ["navy.png", "yellow.png"]
    assert (project.folder / "data/07_model_output/own/eszsl/sorted").is_dir()  # of the run before
    assert "eszsl/sorted" not in end.stdout


def test_the_report_is_made_of_it_all_the_same(project):
    project.kedro("run", "--env=own", "--pipeline=report")
    assert (project.folder / "data/08_reporting/own/report/index.html").is_file()


def test_images_that_are_added_are_measured_by_the_next_run(project):
    for name, colour in UNSEEN.items():
        paint(project.folder / "data/01_raw/own/images" / name / "0.png", colour, np.random.default_rng(1))
    project.kedro("run", "--env=own", "--pipeline=eszsl")
    found = json.loads((project.folder / "data/08_reporting/own/eszsl/metrics.json").read_text())
    assert found["accuracy"] == 1
