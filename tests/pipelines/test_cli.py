"""The whole road on a reduced emoji set, by the commands users type."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.metrics import METRICS, ConfidenceOutcome
from tests.helpers.notebooks import NOTEBOOKS, run_notebook
from tests.helpers.projects import environment

#: Two vendors, one category: 80-odd classes, 160-odd images, seconds instead of minutes.
SMALL = """
ingestion: {groups: [Activities], sources: [Appl, Twtr]}
selection: {n_folds: 2}
"""


def run(project, pipeline, *options):
    return project.kedro("run", "--env=small", f"--pipeline={pipeline}", *options)


@pytest.fixture(scope="module")
def project(make_project):
    project = make_project()
    environment = project.folder / "conf" / "small"
    environment.mkdir()
    (environment / "parameters.yml").write_text(SMALL)
    run(project, "eszsl")
    return project


def reporting(project, method, name):
    return project.folder / "data" / "08_reporting" / "emoji" / method / name


def test_metrics_tables_and_picture_are_written(project):
    metrics = json.loads(reporting(project, "eszsl", "metrics.json").read_text())
    interval = {"per_class_accuracy_low", "per_class_accuracy_high"}
    of_confidence = {metric.key for metric in METRICS if metric.of is ConfidenceOutcome}
    hits = {f"hit_at_{k}" for k in (1, 2, 5, 10)}
    assert set(metrics) == {"accuracy", "per_class_accuracy"} | interval | hits | of_confidence
    # Twice chance, with hardly anything to learn from: 34 test images, so one of them is half of chance.
    assert metrics["accuracy"] > 2 / 17
    predictions = pd.read_parquet(project.folder / "data/07_model_output/emoji/eszsl/predictions.parquet")
    assert list(predictions.columns[:4]) == ["image_id", "true", "predicted", "score"]
    assert (predictions["true"] == predictions["predicted"]).mean() == metrics["accuracy"]
    assert predictions[[f"top_{k}" for k in range(1, 6)]].nunique(axis=1).eq(5).all()
    assert predictions["probability"].between(0, 1).all()
    assert reporting(project, "eszsl", "gallery.png").stat().st_size > 10_000
    selection = pd.read_csv(project.folder / "data/06_models/emoji/eszsl/selection.csv")
    assert 49 < len(selection) < 49 * 4  # of the points of the grid in every normalisation, those that were tried
    chosen = json.loads((project.folder / "data/06_models/emoji/eszsl/chosen.json").read_text())
    assert chosen == selection.iloc[0][["gamma", "lam"]].to_dict()
    way = json.loads((project.folder / "data/06_models/emoji/eszsl/normalisation.json").read_text())
    assert {part: "+".join(steps) for part, steps in way.items()} == selection.iloc[0][
        ["features", "semantics"]
    ].to_dict()


def test_unseen_classes_are_never_trained_on(project):
    primary = project.folder / "data" / "03_primary" / "emoji"
    classes = pd.read_parquet(primary / "classes.parquet").set_index("class_name")["role"]
    split = pd.read_parquet(primary / "split.parquet")
    roles = split["class_name"].map(classes)
    assert set(split.loc[roles == "unseen", "zsl"]) == {"test"}
    assert set(split.loc[roles == "seen", "zsl"]) == {"train"}
    assert set(split.loc[roles == "unseen", "gzsl"]) == {"test"}


def test_mlflow_has_parameters_metrics_artifacts_and_origin(project):
    record = project.runs()[-1]
    assert (record.info.status, record.info.run_name) == ("FINISHED", "ESZSL · emoji · split 0")
    assert (record.data.tags["kind"], record.data.tags["method"]) == ("training", "eszsl")
    columns = {"feature_extraction.backbone": "efficientnet_lite0", "split.seed": "0", "selection.n_folds": "2"}
    columns |= {"confidence.none_share": "0.05", "gallery.rows": "6"}  # every setting, also where nobody has named it
    assert columns.items() <= record.data.params.items()
    assert "chosen.gamma" in record.data.params
    assert {"accuracy", "per_class_accuracy", "hit_at_5", "wall_seconds", "peak_memory_mb"} <= set(record.data.metrics)
    assert {"git_commit", "problem_fingerprint", "features_fingerprint"} <= set(record.data.tags)
    artifacts = {file.name for file in project.folder.glob("mlruns/*/*/artifacts/eszsl/*")}
    assert {"gallery.png", "selection.csv", "per_class.csv", "confusions.csv", "predictions.parquet"} <= artifacts
    (output,) = record.outputs.model_outputs
    (description,) = project.folder.glob(f"mlruns/*/models/{output.model_id}/artifacts/MLmodel")
    assert "loader_module: aezsl.serving.service" in description.read_text()


@pytest.mark.parametrize("runner", ["ThreadRunner", "ParallelRunner", "aezsl.runner.DaskRunner"])
def test_other_runners_compute_no_feature_twice_and_log_one_run(project, runner):
    shards = sorted((project.folder / "data/04_feature/emoji/features").glob("*/*.parquet"))
    times = [shard.stat().st_mtime_ns for shard in shards]
    before = len(project.runs())
    accuracy = json.loads(reporting(project, "eszsl", "metrics.json").read_text())["accuracy"]
    run(project, "eszsl", f"--runner={runner}")
    assert sorted((project.folder / "data/04_feature/emoji/features").glob("*/*.parquet")) == shards
    assert [shard.stat().st_mtime_ns for shard in shards] == times
    runs = project.runs()
    assert len(runs) == before + 1
    assert runs[0].data.metrics["accuracy"] == accuracy
    assert runs[0].data.params["feature_extraction.backbone"] == "efficientnet_lite0"


def test_another_seed_is_a_parameter_and_another_problem(project):
    first = project.runs()[-1]
    given = "--params=split.seed=1,evaluation.scores=true,eszsl.lam=10.0,eszsl.grid.gamma=[1.0]"
    project.kedro("run", "--env=small", "--pipelines=eszsl", given)
    second = project.runs()[0]
    with np.load(project.folder / "data/07_model_output/emoji/eszsl/scores.npz") as kept:
        assert (kept["scores"].argmax(axis=1) == kept["true"]).mean() == second.data.metrics["accuracy"]
    columns = {"split.seed": "1", "eszsl.lam": "10.0", "chosen.lam": "10.0", "eszsl.grid.gamma": "[1.0]"}
    assert columns.items() <= second.data.params.items()
    searched = pd.read_csv(project.folder / "data/06_models/emoji/eszsl/selection.csv")
    assert searched["gamma"].tolist() == [1.0] * 4  # one point in every normalisation
    assert "lam" not in searched
    assert second.data.params["split.unseen_fraction"] == "0.2"  # a sibling survives
    assert second.data.tags["problem_fingerprint"] != first.data.tags["problem_fingerprint"]
    assert second.data.tags["features_fingerprint"] == first.data.tags["features_fingerprint"]


def test_the_tour_shows_the_images_of_the_run(project):
    (tour,) = NOTEBOOKS
    text, pictures = run_notebook(tour, project.folder)
    assert "17 unseen classes" in text
    assert pictures == 4


@pytest.fixture
def page(project):
    """A function that asks the page that ``kedro app`` opens, as one visitor."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "kedro", "app", "--env=small", "--params=method=eszsl", f"--port={port}"]
    visitor = {}

    def ask(question, **about):
        body = json.dumps({"model": "emoji/eszsl", **about}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/{question}", body, visitor)
        return json.load(urllib.request.urlopen(request, timeout=300))

    with (project.folder / "app.log").open("w") as log:
        process = subprocess.Popen(command, cwd=project.folder, env=environment(), stdout=log, stderr=log)
        try:
            while True:
                assert process.poll() is None, (project.folder / "app.log").read_text()
                try:
                    visitor["X-Visitor"] = ask("models")["visitor"]
                    break
                except urllib.error.HTTPError:  # it answers, but not as it should
                    raise
                except OSError:
                    time.sleep(0.2)
            yield ask
        finally:
            process.terminate()
            process.wait(60)


def test_the_page_names_an_example_and_knows_what_was_measured(project, page):
    about = page("model")
    photo = page("example", number=0)["photo"]
    (answer,) = page("scores", photos=[photo], classes=about["classes"])["answers"]
    assert set(answer["names"]) == {name for name, _ in about["classes"]}
    assert "Accuracy" in page("runs")["measured"]["metrics"]
    # A run on other classes, such as a split of a repeat, has measured another model.
    problem = json.loads((project.folder / "data/08_reporting/emoji/eszsl/record.json").read_text())[
        "problem_fingerprint"
    ]
    runs = [run for run in project.runs() if run.data.tags.get("problem_fingerprint") == problem]
    for run in runs:
        project.tag(run, "problem_fingerprint", "another")
    assert page("runs")["measured"] == {}
    for run in runs:
        project.tag(run, "problem_fingerprint", problem)


def test_the_page_of_a_method_that_is_not_trained_says_what_to_run(project):
    result = project.kedro("app", "--env=small", "--params=method=sync", check=False)
    assert result.returncode
    assert "sync has not been trained yet" in result.stderr
