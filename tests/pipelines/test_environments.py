"""The environments of the benchmarks: small overlays, each with its own adapter and its own place for results."""

import json
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.io
from kedro.io import CatalogConfigResolver, DataCatalog

from aezsl import settings
from aezsl.encoders.images.settings import ExtractionSettings, check_backbones
from aezsl.formats.sun import SUN
from aezsl.formats.xlsa17 import read_classes, read_split
from aezsl.methods import make_method
from tests.helpers import ROOT
from tests.helpers.layouts import Xlsa17Files
from tests.helpers.matlab import cells
from tests.helpers.pipelines import registered
from tests.helpers.trees import reference
from tests.synthetic import make_synthetic

ENVIRONMENTS = sorted(path.parent.name for path in (ROOT / "conf").glob("*/catalog.yml"))

#: Where the choice among several is not what is tested.
ONE_WAY = ["normalise.features=l2", "normalise.semantics=l2"]


def configuration(env, given=None):
    return settings.CONFIG_LOADER_CLASS(str(ROOT / "conf"), env, given, **settings.CONFIG_LOADER_ARGS)


def metrics(project, benchmark, method="eszsl"):
    return json.loads((project.folder / "data/08_reporting" / benchmark / method / "metrics.json").read_text())


@cache
def overlaid(env):
    """Catalog and parameters of an environment, merged with base."""
    loader = configuration(env)
    return loader["catalog"], loader["parameters"]


@pytest.fixture(scope="module")
def inputs():
    """What any of the pipelines reads and none of its own nodes makes."""
    return set().union(*(pipeline.inputs() for pipeline in registered().values()))


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_whatever_a_pipeline_reads_is_configured(env, inputs):
    catalog, parameters = overlaid(env)
    patterns = CatalogConfigResolver(catalog)
    for name in inputs:
        if name.startswith("params:"):
            assert name.removeprefix("params:") in parameters
        else:
            assert name == "parameters" or name in catalog or patterns.match_dataset_pattern(name), name


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_name_in_an_environment_means_something(env):
    catalog, parameters = overlaid(env)
    entry = catalog["raw_benchmark"]
    assert entry["root"].startswith("data/01_raw/")
    # A reader is made when it is first asked for, and refuses unknown formats and options.
    assert entry["root"] in str(DataCatalog.from_config({"raw_benchmark": entry})["raw_benchmark"])
    check_backbones(ExtractionSettings(**parameters["feature_extraction"]))


def test_no_two_share_a_place_or_an_experiment():
    places = [configuration(env)["globals"]["benchmark"] for env in (*ENVIRONMENTS, "local")]
    places += [configuration("xlsa17", {"xlsa17": {"name": name}})["globals"]["benchmark"] for name in ("awa2", "APY")]
    places.append(configuration("own", {"own": {"name": "shells"}})["globals"]["benchmark"])
    assert len(set(map(str.lower, places))) == len(places)


def test_the_command_line_moves_data_and_results_together():
    loader = configuration("xlsa17", {"xlsa17": {"name": "APY", "root": "/elsewhere"}})
    assert loader["catalog"]["raw_benchmark"]["name"] == "APY"
    assert loader["catalog"]["raw_benchmark"]["root"] == "/elsewhere"
    assert loader["parameters"]["feature_extraction"]["path"] == "/elsewhere/APY/res101.mat"
    assert loader["catalog"]["images"]["filepath"] == "data/03_primary/xlsa17_APY/images.parquet"
    loader = configuration("dogs", {"dogs": {"wordnet": "/elsewhere/data.noun"}})
    assert loader["parameters"]["semantic_embedding"]["sources"][1]["path"] == "/elsewhere/data.noun"


@pytest.mark.parametrize(
    ("env", "paper"), [("cub", "cub_standard"), ("sun", "sun_paper"), ("dogs", None), ("awa2", None)]
)
def test_the_papers_unseen_classes_are_the_default_where_they_are_known(env, paper):
    assert configuration(env)["catalog"]["raw_benchmark"]["unseen_list"] == paper
    assert configuration(env, {env: {"unseen_list": "mine"}})["catalog"]["raw_benchmark"]["unseen_list"] == "mine"
    assert configuration(env, {env: {"unseen_list": None}})["catalog"]["raw_benchmark"]["unseen_list"] is None


def test_sun_has_the_papers_smaller_k():
    assert configuration("sun")["parameters"]["aezsl_lr"]["k"] == 10
    assert make_method("aezsl_lr").k == 100


def test_xlsa17_from_two_files_to_metrics_in_a_place_of_their_own(make_project, tmp_path):
    data = make_synthetic()
    n_seen, n = len(data.S), len(data.y)
    names = [f"class{c}" for c in range(n_seen + len(data.S_new))]
    split = {"trainval_loc": np.arange(n), "test_seen_loc": [], "test_unseen_loc": np.arange(n, n + len(data.y_new))}
    labels = np.concatenate([data.y, data.y_new + n_seen])
    Xlsa17Files(names, np.vstack([data.S, data.S_new]), labels, np.vstack([data.X, data.X_new]), split).write(tmp_path)
    project = make_project()
    project.kedro("run", "--env=xlsa17", "--pipeline=eszsl", f"--params=xlsa17.root={tmp_path},xlsa17.name=TOY")
    assert metrics(project, "xlsa17_TOY")["per_class_accuracy"] > 2 / len(data.S_new)
    assert {path.name for path in (project.folder / "data").glob("[!.]*/*")} == {"xlsa17_TOY"}
    (experiment,) = {run.info.experiment_id for run in project.runs()}
    assert project.experiment(experiment) == "aezsl_xlsa17_TOY"


def test_cub_with_stored_features_reaches_the_known_accuracy(make_project):
    root = reference("cub/CUB_200_2011")
    features = reference("cub/features/efficientnet_lite0.npz")
    project = make_project()
    given = [f"cub.root={root}", "cub.unseen_list=cub_proposed", "cub.attributes=shipped"]
    given += ["feature_extraction.backbone=file", f"feature_extraction.path={features}"]
    project.kedro("run", "--env=cub", "--pipeline=eszsl", f"--params={','.join(given)}")
    assert metrics(project, "cub")["per_class_accuracy"] == pytest.approx(0.632, abs=0.01)  # 0.588 by unit length alone
    chosen = json.loads((project.folder / "data/06_models/cub/eszsl/normalisation.json").read_text())
    assert chosen == {"features": ["sqrt", "centre", "l2"], "semantics": ["centre", "l2"]}


def test_dogs_by_words_and_wordnet_with_stored_features(make_project, tmp_path):
    features, root = reference("dogs/features/efficientnet_lite0.npz"), reference("dogs")
    (tmp_path / "files.txt").write_text("\n".join(np.load(features)["files"]))
    given = [f"dogs.root={root}", f"dogs.image_list={tmp_path}/files.txt"]
    given += [f"dogs.wordnet={reference('imagenet/wordnet.is_a.txt')}"]
    given += ["feature_extraction.backbone=file", f"feature_extraction.path={features}", *ONE_WAY]
    project = make_project()
    project.kedro("run", "--env=dogs", "--pipeline=eszsl", f"--params={','.join(given)}")
    assert metrics(project, "dogs")["per_class_accuracy"] > 0.3  # 30 unseen breeds


def attributes_seen_through_noise(attributes, seed=0):
    """Features as a network might see the attributes: projected, with noise of about their own size."""
    rng = np.random.default_rng(seed)
    features = attributes @ rng.normal(size=(attributes.shape[1], 64))
    return (features + features.std() * rng.normal(size=features.shape)).astype(np.float32)


def test_sun_from_the_official_files_to_the_papers_ten_scenes(make_project, tmp_path):
    """The real tables and split; the images are not in the reference data, so their features are made up."""
    root = reference("sun")
    data = SUN(root=str(root)).read()
    attributes = np.stack(data.images["class_name"].map(data.classes.set_index("class_name")["attributes"]))
    X = attributes_seen_through_noise(attributes)
    np.savez(tmp_path / "features.npz", X=X, image_id=data.images["image_id"].to_numpy(str))
    given = [f"sun.root={root}", "feature_extraction.backbone=file", f"feature_extraction.path={tmp_path}/features.npz"]
    given += ONE_WAY
    project = make_project()
    project.kedro("run", "--env=sun", "--pipeline=eszsl_lr", f"--params={','.join(given)}")
    summary = json.loads((project.folder / "data/05_model_input/sun/problem_summary.json").read_text())
    assert (summary["n_seen"], summary["n_unseen"], summary["n_train"], summary["n_test"]) == (707, 10, 14_140, 200)
    predictions = pd.read_parquet(project.folder / "data/07_model_output/sun/eszsl_lr/predictions.parquet")
    assert sorted(predictions["true"].unique()) == reference("sun/unseen_10.txt").read_text().split()
    assert metrics(project, "sun")["per_class_accuracy"] > 0.5
    history = pd.read_csv(project.folder / "data/08_reporting/sun/eszsl_lr/refinement_history.csv")
    assert len(history) == 1 + 20  # the start, and the paper's k: ten of the 200 images a round


def test_xlsa17_with_the_communitys_own_splits(make_project, tmp_path):
    """The real class vectors and lists; features and labels are not in the reference data, so they are made up."""
    path = reference("xlsa17/APY/att_splits.mat")
    names, attributes = read_classes(path)
    split = read_split(path, 15_339)
    labels = np.empty(15_339, dtype=int)
    labels[split["test_unseen_loc"]] = 20 + np.arange(len(split["test_unseen_loc"])) % 12
    for part in ("trainval_loc", "test_seen_loc"):
        labels[split[part]] = np.arange(len(split[part])) % 20
    (tmp_path / "APY").mkdir()
    shutil.copy(path, tmp_path / "APY")
    content = {"features": attributes_seen_through_noise(attributes[labels]).T, "labels": labels[:, None] + 1}
    content["image_files"] = cells([f"/authors/{i}.jpg" for i in range(len(labels))])
    scipy.io.savemat(tmp_path / "APY/res101.mat", content)
    project = make_project()
    given = f"--params=xlsa17.root={tmp_path},xlsa17.name=APY"
    project.kedro("run", "--env=xlsa17", "--pipeline=gzsl_eszsl", given)
    summary = json.loads((project.folder / "data/05_model_input/xlsa17_APY/gzsl_problem_summary.json").read_text())
    assert (summary["n_train"], summary["n_test"], summary["n_unseen"]) == (5932, 1483 + 7924, 12)
    predictions = pd.read_parquet(project.folder / "data/07_model_output/xlsa17_APY/gzsl_eszsl/predictions.parquet")
    assert set(predictions["true"]) == set(names)
    assert metrics(project, "xlsa17_APY", "gzsl_eszsl")["gzsl_unseen"] > 2 / 32
