"""Every registered method through its own pipelines, in both settings, on the small problem with a projection shift."""

import numpy as np
import pandas as pd
import pytest

from aezsl.data.problem import Problem
from aezsl.methods import METHODS, REFINES
from aezsl.pipeline_registry import create_method_pipeline
from aezsl.pipelines.sensitivity import create_pipeline as create_sensitivity_pipeline
from tests.helpers.problems import make_problem, run


@pytest.mark.parametrize("name", METHODS)
def test_conventional_pipeline(name):
    problem = make_problem("zsl")
    catalog = run(create_method_pipeline(name), problem, [name, REFINES.get(name, name)])
    metrics, predictions = catalog.load(f"{name}.metrics"), catalog.load(f"{name}.predictions")
    right = predictions["true"] == predictions["predicted"]
    assert metrics["accuracy"] == metrics["hit_at_1"] == right.mean()
    assert set(predictions["label_space"]) == {"unseen"}
    assert set(predictions["predicted"]) <= set(problem.unseen_names)
    assert catalog.load(f"{name}.per_class")["images"].sum() == len(problem.X_test)
    assert catalog.load(f"{name}.recipe") == "how to prepare new data"  # beside every model
    if name in REFINES:
        assert {"accuracy", "changed", "confident"} <= set(catalog.load(f"{name}.refinement_history"))


@pytest.mark.parametrize("name", METHODS)
def test_generalized_pipeline(name):
    problem = make_problem("gzsl")
    pipeline = create_method_pipeline(name, "gzsl")
    catalog = run(pipeline, problem, [name, REFINES.get(name, name)], "gzsl_")
    metrics, predictions = catalog.load(f"gzsl_{name}.metrics"), catalog.load(f"gzsl_{name}.predictions")
    assert {"ausuc", "gzsl_accuracy", "gzsl_seen", "gzsl_unseen", "gzsl_harmonic_calibrated"} <= set(metrics)
    right = predictions["true"] == predictions["predicted"]
    assert right.mean() == pytest.approx(metrics["gzsl_accuracy_calibrated"])
    assert set(predictions["label_space"]) == {"seen + unseen"}
    curve = catalog.load(f"gzsl_{name}.seen_unseen_table")
    assert (curve["unseen"].diff().dropna() >= 0).all()
    assert (curve["seen"].diff().dropna() <= 0).all()


def test_a_conventional_problem_is_not_evaluated_as_generalized():
    pipeline = create_method_pipeline("eszsl", "gzsl")
    with pytest.raises(ValueError, match="needs a problem built for it, got one for 'zsl'"):
        run(pipeline, make_problem("zsl"), ["eszsl"], "gzsl_")


@pytest.mark.parametrize("parameter", ["k", "lambda3"])
def test_sensitivity_pipeline(parameter):
    problem = make_problem("zsl")
    pipeline = create_method_pipeline("aezsl_lr") + create_sensitivity_pipeline("aezsl_lr", parameter)
    catalog = run(pipeline, problem, ["aezsl_lr", "aezsl"])
    table = catalog.load(f"aezsl_lr.sensitivity_{parameter}")
    assert len(table) == 3
    own = table.loc[table["chosen"], "accuracy"]  # the method itself had one of the values
    assert own.tolist() == [catalog.load("aezsl_lr.metrics")["accuracy"]]


def test_unlabelled_test_images_are_predicted_without_accuracy():
    problem = make_problem("zsl")
    problem = Problem(**{**vars(problem), "y_test": None})
    catalog = run(create_method_pipeline("eszsl_lr"), problem, ["eszsl_lr", "eszsl"])
    assert catalog.load("eszsl_lr.metrics") == {}
    assert catalog.load("eszsl_lr.predictions")["true"].isna().all()
    assert len(catalog.load("eszsl_lr.predictions")) == len(problem.X_test)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_images_without_a_label_are_named_but_not_counted(setting):
    whole = make_problem(setting)
    known = np.arange(len(whole.X_test)) % 3 > 0
    part = Problem(**{**vars(whole), "y_test": np.where(known, whole.y_test, -1)})
    prefix = "" if setting == "zsl" else "gzsl_"
    pipeline = create_method_pipeline("eszsl_lr", setting)
    if setting == "zsl":
        pipeline += create_sensitivity_pipeline("eszsl_lr", "k")
    expected, found = (run(pipeline, problem, ["eszsl_lr", "eszsl"], prefix) for problem in (whole, part))
    predictions = found.load(f"{prefix}eszsl_lr.predictions")
    assert predictions["true"].notna().tolist() == known.tolist()
    assert predictions["predicted"].equals(expected.load(f"{prefix}eszsl_lr.predictions")["predicted"])
    right = (predictions["true"] == predictions["predicted"])[known].mean()
    metric = "accuracy" if setting == "zsl" else "gzsl_accuracy_calibrated"
    assert found.load(f"{prefix}eszsl_lr.metrics")[metric] == pytest.approx(right)
    assert found.load(f"{prefix}eszsl_lr.per_class")["images"].sum() == known.sum()
    if setting == "zsl":
        history = found.load("eszsl_lr.refinement_history")
        assert history["accuracy"].iloc[-1] == pytest.approx(right)
        assert found.load("eszsl_lr.sensitivity_k")["accuracy"].max() >= right


def test_selection_is_taken_over_while_nothing_changed():
    from aezsl.pipelines.training.nodes import select_parameters

    problem = make_problem("zsl")
    settings = ({"init": {}, "grid": {"gamma": [0.1, 1.0], "lam": [1.0]}}, {"rule": "first", "n_folds": 1, "seed": 0})
    table, chosen = select_parameters(problem, *settings, pd.DataFrame(), "eszsl")
    marked = table.assign(mean=[2.0, 1.0])
    again, same = select_parameters(problem, *settings, marked, "eszsl")
    assert again is marked
    assert same == chosen
    other = Problem(**{**vars(problem), "X_train": problem.X_train * 2})
    assert select_parameters(other, *settings, marked, "eszsl")[0]["mean"].max() <= 1
