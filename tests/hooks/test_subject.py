"""What a run is about, what it is called, and what to type next."""

import pytest

from aezsl.hooks.subject import describe_run, main_method, methods_with_runs, next_command


@pytest.mark.parametrize(
    ("env", "given", "told"),
    [
        (None, {}, "kedro run --pipeline=report"),
        (None, {"split": {"seed": 1}}, "kedro run --pipeline=report --params=split.seed=1"),
        (
            "cub",
            {"cub": {"root": "/birds"}, "feature_extraction": {"path": "my.npz"}},
            "kedro run --env=cub --pipeline=report --params=cub.root=/birds,feature_extraction.path=my.npz",
        ),
        ("cub", {"cub": {"unseen_list": None}}, "kedro run --env=cub --pipeline=report --params=cub.unseen_list=null"),
        (None, {"a": {"b": {"c": True}}}, "kedro run --pipeline=report --params=a.b.c=true"),
        (None, {"a": {"b": ["c"]}}, """kedro run --pipeline=report --params='a.b=["c"]'"""),
        ("own", {"own": {"root": "my birds"}}, "kedro run --env=own --pipeline=report --params='own.root=my birds'"),
        # Of one method, or of one command.
        (
            None,
            {"aezsl": {"tol": 1}, "predict": {"images": "x"}, "method": "aezsl"},
            "kedro run --pipeline=report",
        ),
    ],
)
def test_parameters_of_the_problem_stay(env, given, told):
    assert next_command({"env": env, "runtime_params": given}, "report") == told


def test_more_may_be_said():
    told = next_command({"env": "own", "runtime_params": {"own": {"name": "birds"}}}, "predict", {"method": "aezsl"})
    assert told == "kedro run --env=own --pipeline=predict --params=own.name=birds,method=aezsl"


@pytest.mark.parametrize(
    ("named", "subject"),
    [
        ({"pipeline_name": "eszsl"}, "eszsl"),
        ({"pipeline_names": ["gzsl_aezsl"]}, "gzsl_aezsl"),
        ({"pipeline_names": ["ingestion", "eszsl"]}, "eszsl"),
        ({"pipeline_names": ["ingestion", "feature_extraction"]}, "ingestion"),
        ({"pipeline_name": "sensitivity_k"}, "aezsl_lr"),
        ({"pipeline_name": None, "pipeline_names": None}, "aezsl_lr"),
        ({}, "aezsl_lr"),
    ],
)
def test_the_first_method_named_is_what_a_run_is_about(named, subject):
    assert main_method(named) == subject


REGISTERED = {"method": "aezsl", "model": "models:/birds/2"}
PARAMETERS = {"report": {"benchmark": "birds"}, "split": {"seed": 3}, "predict": {"method": "aezsl", "model": None}}


@pytest.mark.parametrize(
    ("pipelines", "name", "kind", "method"),
    [
        (["aezsl_lr"], "AEZSL_LR · birds · split 3", "training", "aezsl_lr"),
        (None, "AEZSL_LR · birds · split 3", "training", "aezsl_lr"),
        (["gzsl_eszsl"], "ESZSL, generalized · birds · split 3", "training", "gzsl_eszsl"),
        (["eszsl", "aezsl"], "ESZSL, AEZSL · birds · split 3", "training", None),
        (["table1"], "table1 · birds · split 3", "training", None),
        (["predict"], "predict, AEZSL · birds", "prediction", "aezsl"),
        (["export"], "export, AEZSL · birds", "export", "aezsl"),
        (["report"], "report · birds", "report", None),
        (["ingestion"], "ingestion · birds · split 3", "data", None),
    ],
)
def test_runs_are_named_by_method_data_and_split_and_told_apart_by_kind(pipelines, name, kind, method):
    tags = describe_run({"pipeline_names": pipelines}, PARAMETERS)
    assert (tags["mlflow.runName"], tags["kind"], tags.get("method")) == (name, kind, method)
    assert tags["benchmark"] == "birds"


def test_what_a_registered_model_answers_is_not_called_the_method_s():
    tags = describe_run({"pipeline_names": ["predict"]}, PARAMETERS | {"predict": REGISTERED})
    assert (tags["mlflow.runName"], tags.get("method")) == ("predict, models:/birds/2 · birds", None)
    tags = describe_run({"pipeline_names": ["export"]}, PARAMETERS | {"predict": REGISTERED})
    assert tags["method"] == "aezsl"


@pytest.mark.parametrize(
    ("pipelines", "measured", "below"),
    [
        (["aezsl_lr"], ["aezsl", "aezsl_lr"], []),  # its base stands beside it
        (None, ["aezsl", "aezsl_lr"], []),
        (["eszsl", "aezsl"], ["aezsl", "eszsl"], ["aezsl", "eszsl"]),
        (["table1"], ["aezsl", "eszsl"], ["aezsl", "eszsl"]),
        (["report"], [], []),
    ],
)
def test_a_run_of_several_methods_has_one_below_it_for_each(pipelines, measured, below):
    assert methods_with_runs({"pipeline_names": pipelines}, measured) == below
