"""``kedro repeat`` on made-up features: two splits, killed in the second, resumed, and what it leaves."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from kedro.io import DataCatalog

from aezsl.commands.repeat import Repeat
from aezsl.commands.repeated import FinishedMethods, load_mapping, parts_by_method
from aezsl.datasets.files import JSONDataset
from aezsl.errors import DataError
from tests.helpers.layouts import Xlsa17Files
from tests.helpers.pipelines import registered
from tests.synthetic import make_synthetic

OPTIONS = ("--env=xlsa17", "--pipeline=eszsl,aezsl_sim", "--seeds=0,3")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Options for data that names its unseen classes."""
    folder = tmp_path_factory.mktemp("xlsa17")
    data = make_synthetic()
    n_seen, n = len(data.S), len(data.y)
    names = [f"class{c}" for c in range(n_seen + len(data.S_new))]
    split = {"trainval_loc": np.arange(n), "test_seen_loc": [], "test_unseen_loc": np.arange(n, n + len(data.y_new))}
    labels = np.concatenate([data.y, data.y_new + n_seen])
    files = Xlsa17Files(names, np.vstack([data.S, data.S_new]), labels, np.vstack([data.X, data.X_new]), split)
    files.write(folder)
    return f"--params=xlsa17.root={folder},xlsa17.name=TOY,eszsl.grid.gamma=[1.0]"


def lines(result):
    """Split and method of every line of progress, and whether it was computed."""
    return re.findall(r"\(seed (\d)\), (\w+): .* \((done|taken over)\)", result.stdout + result.stderr)


def test_two_splits_killed_resumed_and_compared(make_project, given):
    project = make_project()
    folder = project.folder / "data/08_reporting/xlsa17_TOY/splits"
    # The second split ends in the middle: a folder stands where the metrics of its second method should be.
    obstacle = folder / "3/eszsl/metrics.json"
    obstacle.mkdir(parents=True)
    stopped = project.kedro("repeat", *OPTIONS, given, check=False)
    assert stopped.returncode != 0
    assert lines(stopped) == [("0", "aezsl_sim", "done"), ("0", "eszsl", "done"), ("3", "aezsl_sim", "done")]
    (parent,) = (run for run in project.runs() if "mlflow.parentRunId" not in run.data.tags)
    assert parent.info.status == "FAILED"
    obstacle.rmdir()

    project.tag(parent, "mlflow.runName", "splits: 1 splits · xlsa17_TOY")  # as a shorter one has
    resumed = project.kedro("repeat", *OPTIONS, given)
    assert lines(resumed) == [
        ("0", "aezsl_sim", "taken over"),
        ("0", "eszsl", "taken over"),
        ("3", "aezsl_sim", "taken over"),
        ("3", "eszsl", "done"),
    ]
    splits = pd.read_csv(folder / "splits.csv")
    assert list(zip(splits["seed"], splits["method"], strict=True)) == [
        (seed, name) for seed in (0, 3) for name in ("aezsl_sim", "eszsl")
    ]
    for seed, method, accuracy in splits[["seed", "method", "per_class_accuracy"]].itertuples(index=False):
        metrics = json.loads((folder / str(seed) / method / "metrics.json").read_text())
        assert accuracy == pytest.approx(100 * metrics["per_class_accuracy"])
    assert "| ESZSL |" in (folder / "summary.md").read_text()
    assert r"\toprule" in (folder / "summary.tex").read_text()
    assert "Settings: xlsa17.root=" in (folder / "summary.md").read_text()  # a reader can run the command
    unseen = [unseen_classes(project, seed) for seed in (0, 3)]
    assert len(unseen[0]) == len(unseen[1])
    assert unseen[0] != unseen[1]
    assert not (folder.parent / "eszsl").exists()  # the place of an ordinary run is left alone
    assert not list((project.folder / "data").glob("0[56]_*/*/splits/**/*.npz"))  # nothing large stays
    assert "| ESZSL |" in resumed.stdout
    assert "kedro run" not in resumed.stdout  # what single runs end with is not said of every split
    assert resumed.stdout.rstrip().endswith("data/08_reporting/xlsa17_TOY/splits/summary.tex")

    runs = project.runs()
    (again,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert (again.info.run_id, again.info.status) == (parent.info.run_id, "FINISHED")
    assert again.info.run_name == "splits: 2 splits · xlsa17_TOY"
    assert {"eszsl.per_class_accuracy", "eszsl.per_class_accuracy_std"} <= set(again.data.metrics)
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert sorted(run.info.run_name for run in children) == ["split 0", "split 3", "split 3"]
    (first,) = (run.info.run_id for run in children if run.info.run_name == "split 0")
    below = {run.data.tags["method"] for run in runs if run.data.tags.get("mlflow.parentRunId") == first}
    assert below == {"aezsl_sim", "eszsl"}

    # Other settings would overwrite these results.
    refused = project.kedro("repeat", *OPTIONS, f"{given},split.test_imbalance=10", check=False)
    assert "split.test_imbalance was 1, is 10" in refused.stdout + refused.stderr
    # The report shows the repeat.
    project.kedro("run", "--env=xlsa17", "--pipeline=report", "--params=xlsa17.name=TOY")
    assert "Over class splits" in (folder.parent / "report/index.html").read_text()


def unseen_classes(project, seed):
    classes = pd.read_parquet(project.folder / f"data/03_primary/xlsa17_TOY/splits/{seed}/classes.parquet")
    return set(classes.loc[classes["role"] == "unseen", "class_name"])


def test_methods_run_one_after_the_other_and_every_node_once():
    whole = registered()["aezsl_t"] + registered()["table1"]
    parts = parts_by_method(whole)
    assert sorted(node.name for part in parts for node in part.nodes) == sorted(node.name for node in whole.nodes)
    made = set(whole.inputs())
    for part in parts:
        assert part.inputs() <= made
        made |= part.all_outputs()
    of = [{node.namespace for node in part.nodes} for part in parts]
    assert all(len(methods) == 1 for methods in of)
    assert of[0] == of[-1] == {None}  # the data, and the comparison of all


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([], ["gzsl_eszsl", "gzsl_aezsl", "gzsl_aezsl_t"]),
        (["gzsl_aezsl.model"], ["gzsl_eszsl", "gzsl_aezsl_t"]),
        (["aezsl.model"], ["gzsl_eszsl", "gzsl_aezsl", "gzsl_aezsl_t"]),
    ],
)
def test_a_base_is_run_again_where_its_model_is_gone(there, expected):
    context = SimpleNamespace(config_loader={"catalog": {"candidates": {}}, "parameters": {}})
    finished = FinishedMethods(context, SimpleNamespace(exists=there.__contains__))
    assert finished.with_missing_bases(["gzsl_eszsl", "gzsl_aezsl_t"]) == expected


def test_variants_of_a_method_are_measured_and_one_of_them_may_be_the_reference():
    repeat = Repeat(["ablation_weighting"], [0, 1], reference="aezsl_sim_none")
    assert {"eszsl", "aezsl_sim", "aezsl_sim_none", "aezsl_cosine"} <= set(repeat._methods)
    assert repeat._reference == "aezsl_sim_none"


@pytest.mark.parametrize(
    ("pipelines", "options", "named"),
    [
        (["eszl"], {}, "eszl.*eszsl"),
        (["report"], {}, "report"),
        (["eszsl"], {"name": "aezsl"}, "--name.*aezsl"),
        (["eszsl"], {"name": "../x"}, "--name"),
        (["eszsl"], {"reference": "nobody"}, "--reference.*nobody"),
        (["eszsl"], {"params": {"split": {"seed": 1}}}, r"split\.seed"),
        (["eszsl"], {"metric": "acuracy"}, "--metric.*acuracy.* accuracy"),
        (["gzsl_eszsl"], {"metric": "per_class_accuracy"}, "--metric.*gzsl_per_class_accuracy"),
    ],
)
def test_what_cannot_be_repeated_is_refused_by_name(pipelines, options, named):
    with pytest.raises(DataError, match=named):
        Repeat(pipelines, [0, 1], **options)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "7", '"x"', "\0"])
def test_what_a_former_repeat_left_damaged_is_made_again(tmp_path, caplog, content):
    catalog = DataCatalog({"eszsl.finished": JSONDataset(filepath=str(tmp_path / "finished.json"))})
    assert load_mapping(catalog, "eszsl.finished") == {}
    assert caplog.text == ""
    (tmp_path / "finished.json").write_text(content)
    assert load_mapping(catalog, "eszsl.finished") == {}
    assert "eszsl.finished" in caplog.text
