import pandas as pd
import pytest

from aezsl.reporting.summary import MethodResult, better_method, describe_pool, results_table

METRICS = {"per_class_accuracy": 0.3361, "hit_at_5": 0.6}


def history(changed, before, after, **more):
    rows = {"round": [0, 1], "differ_from_start": [0, changed], "per_class_accuracy": [before, after]}
    return pd.DataFrame({**rows, **more})


def test_the_table_has_a_line_per_method_with_interval_and_seconds():
    refined = METRICS | {"per_class_accuracy_low": 0.31, "per_class_accuracy_high": 0.36}
    table = results_table(
        [
            MethodResult("aezsl", METRICS, {"fit_seconds": 1.0, "adapt_seconds": 2.0, "rank_seconds": 0.25}),
            MethodResult("aezsl_lr", refined, {"fit_seconds": 0.0}),
        ]
    )
    assert table.splitlines() == [
        "method               per class  hit@5  seconds",
        "aezsl                    33.6%  60.0%      3.2",
        "aezsl_lr  33.6% (31.0 to 36.0)  60.0%      0.0",
    ]


def test_the_generalized_setting_has_its_own_columns():
    metrics = {"gzsl_seen": 0.9, "gzsl_unseen": 0.1, "gzsl_harmonic": 0.18, "gzsl_harmonic_calibrated": 0.5}
    table = results_table([MethodResult("gzsl_eszsl", metrics, {})])
    assert table.splitlines()[0].split() == ["method", "seen", "unseen", "harmonic", "seconds"]
    assert table.splitlines()[1].split() == ["gzsl_eszsl", "90.0%", "10.0%", "50.0%", "0.0"]


def test_without_labels_there_is_no_table():
    assert results_table([MethodResult("aezsl", {}, {"fit_seconds": 1.0})]) == ""


def test_what_refinement_did_is_one_sentence():
    said = describe_pool("aezsl_lr", history(214, 0.336, 0.369), 1099)
    assert said == "aezsl_lr changed 214 of 1,099 labels: 33.6% -> 36.9%"
    said = describe_pool("aezsl_lr", history(214, 0.336, 0.369), 1099, "l2 for features and l2 for semantics")
    assert said.endswith("33.6% -> 36.9% (normalised by l2 for features and l2 for semantics)")


def test_what_a_method_starts_from_stands_above_it_where_it_is_not_the_line_of_its_base():
    results = [MethodResult("aezsl", METRICS, {}), MethodResult("aezsl_lr", METRICS, {}, ("aezsl, elsewhere", 0.3))]
    lines = [line.split() for line in results_table(results).splitlines()]
    assert lines[2] == ["aezsl,", "elsewhere", "30.0%"]
    assert [line[0] for line in lines] == ["method", "aezsl", "aezsl,", "aezsl_lr"]


def test_labels_without_truth_have_no_accuracy():
    assert describe_pool("aezsl_lr", history(3, None, None), 10) == "aezsl_lr changed 3 of 10 labels"


@pytest.mark.parametrize("table", [history(0, 0.3, 0.3), pd.DataFrame(columns=["round"])])
def test_refinement_that_changes_nothing_says_why(table):
    said = describe_pool("aezsl_lr", table, 7)
    assert said.startswith("aezsl_lr changed none of 7 labels: ")
    assert "validation classes" in said


def test_a_note_of_the_method_is_the_reason():
    said = describe_pool("aezsl_t", history(0, 0.3, 0.3, note="too few images"), 7)
    assert said == "aezsl_t changed none of 7 labels (too few images)"


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        ({"aezsl_lr": 0.3, "exem": 0.4}, "on these data exem reached 40.0%: kedro run --pipeline=exem"),
        (
            {"aezsl_lr": 0.3},
            "worth a try, it gained with every kind of pool that was measured: kedro run --pipeline=aezsl_t",
        ),
        ({"aezsl_lr": 0.3, "aezsl_t": 0.2}, ""),
        ({}, ""),
    ],
)
def test_a_better_command_is_named_where_there_is_one(accuracies, said):
    assert better_method("aezsl_lr", accuracies, "aezsl_t") == said


def test_the_command_that_does_better_is_for_the_same_data():
    def command(pipeline):
        return f"kedro run --env=own --pipeline={pipeline} --params=own.name=birds"

    assert better_method("aezsl", {"aezsl": 0.5}, "aezsl_t", command).endswith(command("aezsl_t"))
    assert better_method("aezsl", {"aezsl": 0.5, "eszsl": 0.6}, "aezsl_t", command).endswith(command("eszsl"))
