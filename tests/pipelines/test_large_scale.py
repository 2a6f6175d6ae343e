"""The large-scale protocol on a small problem of the same shape: lists of candidates, a hierarchy, stored features."""

import json

import numpy as np
import pandas as pd
import pytest

from aezsl.data.benchmark import Candidates
from aezsl.data.problem import Problem
from aezsl.errors import AezslError
from aezsl.evaluation.confidence import Confidence
from aezsl.evaluation.hierarchy import feasible_sets, hierarchical_precision
from aezsl.methods import make_method
from aezsl.pipelines.evaluation.nodes import evaluate_candidates, tabulate_candidates
from aezsl.serving.trained import TrainedModel
from tests.synthetic import make_synthetic

DATA = make_synthetic(n_seen=20, n_unseen=30, per_class=6)
NAMES = [f"n{i:08d}" for i in range(50)]


@pytest.fixture(scope="module")
def problem():
    ids = [str(i) for i in range(len(DATA.X_new))]
    return Problem("zsl", *DATA[:3], NAMES[:20], *DATA[3:], NAMES[20:], ids)


@pytest.fixture(scope="module")
def model():
    return make_method("eszsl", gamma=0.1, lam=0.1).fit(*DATA[:3])


def evaluated(ranking, model, problem, candidates):
    (way,) = problem.normalisations
    return evaluate_candidates(
        ranking, TrainedModel(model, None, Confidence(1.0)), problem, way, candidates, name="eszsl"
    )


def edges():
    return [(NAMES[(i - 1) // 3], NAMES[i]) for i in range(1, 50)]


def test_every_list_is_a_problem_of_its_own(problem, model):
    near = NAMES[25:50:2]
    ranking = model.rank(DATA.X_new, DATA.S_new, 20)
    candidates = Candidates({"near": near[::-1], "all": NAMES[20:]}, edges())
    metrics = evaluated(ranking, model, problem, candidates)
    members = np.array([int(name[1:]) - 20 for name in near])
    images = np.isin(DATA.y_new, members)
    predicted = model.predict(DATA.X_new[images], DATA.S_new[members])
    assert metrics["near.hit_at_1"] == np.mean(members[predicted] == DATA.y_new[images])
    assert metrics["near.n_classes"] == len(near)
    assert metrics["near.n_images"] == images.sum()
    assert metrics["all.hit_at_5"] == metrics["hit_at_5"]
    feasible = feasible_sets(edges(), NAMES[20:])
    for k in (2, 5, 10, 20):
        expected = hierarchical_precision(DATA.y_new, ranking, feasible, k)
        assert metrics[f"all.hp_at_{k}"] == metrics[f"hp_at_{k}"] == expected


def test_without_lists_and_hierarchy_it_is_the_plain_evaluation(problem, model):
    ranking = model.rank(DATA.X_new, DATA.S_new, 20)
    metrics = evaluated(ranking, model, problem, Candidates())
    assert not [name for name in metrics if "." in name or name.startswith("hp")]


def test_a_list_without_test_images_is_refused(problem, model):
    ranking = model.rank(DATA.X_new, DATA.S_new, 20)
    with pytest.raises(AezslError, match="far"):
        evaluated(ranking, model, problem, Candidates({"far": NAMES[:3]}))


def test_the_table_has_the_papers_shape():
    one = {"hit_at_1": 0.5, "2hop.hit_at_1": 0.25, "2hop.hp_at_2": 0.5, "2hop.n_classes": 9.0, "2hop.n_images": 3.0}
    table = tabulate_candidates(one, one, methods=["eszsl", "daezsl"])
    assert table["method"].tolist() == ["eszsl", "daezsl"]
    assert table["hit_at_1"].tolist() == [25.0, 25.0]
    assert list(table.columns[4:]) == [
        *(f"hit_at_{k}" for k in (1, 2, 5, 10, 20)),
        *(f"hp_at_{k}" for k in (2, 5, 10, 20)),
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder laid out as the environment imagenet expects; one candidate class has no vector."""
    folder = tmp_path_factory.mktemp("imagenet")
    (folder / "features").mkdir()
    X = np.vstack([DATA.X, DATA.X_new])
    wnid = np.array(NAMES)[np.concatenate([DATA.y, DATA.y_new + 20])]
    order = np.random.default_rng(0).permutation(len(X))
    np.savez(folder / "features" / "efficientnet_lite0.npz", X=X[order].astype(np.float16), wnid=wnid[order])
    vectors = np.vstack([DATA.S, DATA.S_new])[:-1]
    np.savez(folder / "class_vectors_minilm.npz", vectors=vectors.astype(np.float16), wnid=np.array(NAMES[:-1]))
    lists = {"seen_1k": NAMES[:20], "unseen_2hop": NAMES[25:40], "unseen_3hop": NAMES[22:], "unseen_all": NAMES[20:]}
    for name, names in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(names) + "\n")
    (folder / "wordnet.is_a.txt").write_text("\n".join(" ".join(pair) for pair in edges()))
    (folder / "words_21k.tsv").write_text("\n".join(f"{name}\tthing {name}" for name in NAMES))
    return folder


def test_command_line_writes_table_history_and_counts(make_project, root):
    project = make_project()
    parameters = project.folder / "conf" / "imagenet" / "parameters.yml"
    parameters.write_text(parameters.read_text().replace("epochs: 10", "epochs: 3"))
    result = project.kedro("run", "--env=imagenet", "--pipeline=large_scale", f"--params=imagenet.root={root}")
    reporting = project.folder / "data" / "08_reporting" / "imagenet"
    table = pd.read_csv(reporting / "large_scale_table.csv")
    assert len(table) == 5 * 3  # methods, lists of candidates
    assert table["candidates"].unique().tolist() == ["2hop", "3hop", "all"]
    assert table.set_index("candidates")["n_classes"].to_dict() == {"2hop": 15, "3hop": 27, "all": 29}
    assert "hp_at_20" in result.stdout + result.stderr
    summary = json.loads((project.folder / "data/05_model_input/imagenet/problem_summary.json").read_text())
    assert summary["n_classes_without_vector"] == 1
    assert summary["n_unseen"] == 29
    history = pd.read_csv(reporting / "daezsl" / "training_history.csv")
    assert history["epoch"].tolist() == [1, 2, 3]
    runs = project.runs()
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    below = {run.data.tags["method"]: run for run in runs if run is not parent}
    assert set(below) == set(table["method"])
    assert {run.data.tags["mlflow.parentRunId"] for run in below.values()} == {parent.info.run_id}
    assert {run.info.status for run in below.values()} == {"FINISHED"}
    assert {"2hop.hit_at_1", "epoch.validation_accuracy"} <= set(below["daezsl"].data.metrics)
    # Nothing of the training is left behind, and a second run embeds nothing again.
    assert not list((project.folder / "data/06_models/imagenet/daezsl").glob("checkpoint/*"))
    shards = list((project.folder / "data/04_feature/imagenet/semantics").glob("*/*.parquet"))
    project.kedro("run", "--env=imagenet", "--pipeline=semantic_embedding", f"--params=imagenet.root={root}")
    assert list((project.folder / "data/04_feature/imagenet/semantics").glob("*/*.parquet")) == shards


def test_closed_forms_learn_from_mapped_features(make_project, root):
    project, methods = make_project(), ("exem", "jeac", "ridge")
    project.kedro("run", "--env=imagenet", f"--pipelines={','.join(methods)}", f"--params=imagenet.root={root}")
    for method in methods:
        metrics = json.loads((project.folder / f"data/08_reporting/imagenet/{method}/metrics.json").read_text())
        assert metrics["2hop.n_classes"] == 15
        assert metrics["all.hit_at_1"] == metrics["hit_at_1"] > 0.5
