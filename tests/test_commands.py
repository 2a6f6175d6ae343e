"""What is told to type next does the same problem again, not the default one."""

import pytest

from aezsl.hooks.subject import next_command


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
            {"aezsl": {"init": {"tol": 1}}, "predict": {"images": "x"}, "method": "aezsl"},
            "kedro run --pipeline=report",
        ),
    ],
)
def test_parameters_of_the_problem_stay(env, given, told):
    assert next_command({"env": env, "runtime_params": given}, "report") == told


def test_more_may_be_said():
    told = next_command({"env": "own", "runtime_params": {"own": {"name": "birds"}}}, "predict", {"method": "aezsl"})
    assert told == "kedro run --env=own --pipeline=predict --params=own.name=birds,method=aezsl"
