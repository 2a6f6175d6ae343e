"""The tables of a repeat: means and deviations, differences paired by split, LaTeX that compiles."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from aezsl.evaluation.intervals import paired_interval
from aezsl.reporting.formatting import escape, to_latex
from aezsl.reporting.over_splits import (
    default_reference,
    describe_splits,
    show_splits,
    summarise_splits,
    tabulate_splits,
    write_splits,
)

MEASURED = {
    seed: {
        "eszsl": {"per_class_accuracy": base, "accuracy": 0.5, "2hop.n_classes": 9.0, "2hop.hit_at_1": 0.25},
        "aezsl": {"per_class_accuracy": base + gain, "accuracy": 0.5},
        "gzsl_eszsl": {"gzsl_harmonic_calibrated": base / 2},
    }
    for seed, base, gain in ((0, 0.50, 0.02), (1, 0.60, 0.0), (4, 0.55, -0.01))
}


@pytest.fixture
def summary():
    return summarise_splits(tabulate_splits(MEASURED), "eszsl", 1 / 3)


def row(summary, method, metric):
    (found,) = summary[(summary["method"] == method) & (summary["metric"] == metric)].to_dict("records")
    return found


def test_means_deviations_and_paired_differences_in_per_cent(summary):
    found = row(summary, "aezsl", "per_class_accuracy")
    assert found["splits"] == 3
    assert found["mean"] == pytest.approx(np.mean([52, 60, 54]))
    assert found["std"] == pytest.approx(np.std([52, 60, 54], ddof=1))
    assert found["difference"] == pytest.approx(1 / 3)
    assert (found["reference"], found["wins"], found["ties"], found["losses"]) == ("eszsl", 1, 1, 1)
    low, high = paired_interval(np.array([2.0, 0.0, -1.0]), 1 / 3)
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))
    assert row(summary, "eszsl", "2hop.hit_at_1")["mean"] == 25.0
    assert "2hop.n_classes" not in set(summary["metric"])  # a size, not a share
    assert pd.isna(row(summary, "gzsl_eszsl", "gzsl_harmonic_calibrated")["difference"])  # itself the reference


def test_the_interval_is_students_and_wider_where_splits_overlap():
    a, b = np.random.default_rng(0).normal(size=(2, 8))
    student = ttest_rel(a, b).confidence_interval(0.95)
    assert paired_interval(a - b) == pytest.approx((student.low, student.high))
    narrow, wide = paired_interval(a - b), paired_interval(a - b, 0.25)
    assert np.mean(narrow) == pytest.approx(np.mean(wide))
    assert np.ptp(wide) == pytest.approx(np.ptp(narrow) * np.sqrt((1 / 8 + 1 / 4) / (1 / 8)))
    assert np.isnan(paired_interval(np.array([0.3]))).all()


def test_a_reader_sees_the_best_first_with_its_difference(summary):
    table = show_splits(summary, "zsl")
    assert table["Method"].tolist() == ["AEZSL", "ESZSL"]
    assert table["Per class %"].tolist() == ["55.3 ± 4.2", "55.0 ± 5.0"]
    assert table["To ESZSL"].tolist() == ["+0.3", ""]
    assert table["Wins/ties/losses"].tolist() == ["1/1/1", ""]
    other = show_splits(summary, "zsl", "accuracy")
    assert other["Wins/ties/losses"].tolist() == ["", "0/3/0"]
    assert show_splits(summary, "gzsl")["Harmonic %"].tolist() == ["27.5 ± 2.5"]


def test_one_split_has_no_deviation_and_no_interval():
    summary = summarise_splits(tabulate_splits({0: MEASURED[0]}), "eszsl", 1 / 3)
    table = show_splits(summary, "zsl")
    assert table["Per class %"].tolist() == ["52.0", "50.0"]
    assert table["95% interval"].tolist() == ["", ""]
    assert "no interval" in describe_splits([0], 1 / 3, "per_class_accuracy")


def test_markdown_and_latex_have_the_same_rows(summary):
    notes = {setting: describe_splits([0, 1, 4], 1 / 3, "per_class_accuracy") for setting in ("zsl", "gzsl")}
    markdown, latex = write_splits(summary, notes)
    assert "| AEZSL | " in markdown
    assert "Nadeau" in markdown
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == 2
    assert r"55.3 $\pm$ 4.2" in latex
    assert r"Per class \%" in latex


def test_latex_reads_no_character_as_a_command():
    assert escape(r"a_b & 5% #1 {x} ~ ^ \ $") == (
        r"a\_b \& 5\% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$"
    )
    text = to_latex(pd.DataFrame({"a_b": ["x&y"], "n": [1.234], "none": [np.nan]}), "100% so")
    assert text.splitlines()[1] == "% 100% so"
    assert r"\begin{tabular}{lrr}" in text
    assert "a\\_b & n & none \\\\\n\\midrule\nx\\&y & 1.23 &  \\\\\n\\bottomrule" in text
    assert r"\begin{tabular}{rr}" in to_latex(pd.DataFrame({"a": [], "b": []}))


def test_figures_stand_to_the_right_with_a_minus_sign_also_where_two_columns_have_one_name():
    rows = [["AEZSL-LR 2016", "1.0 ± 2.0", "-3.5 to +1.0", -0.25, None], ["3-hop", "", "", np.nan, "none"]]
    text = to_latex(pd.DataFrame(rows, columns=["Method", "Low", "Low", "n", "why"]))
    assert r"\begin{tabular}{lrrrl}" in text
    assert r"AEZSL-LR 2016 & 1.0 $\pm$ 2.0 & $-$3.5 to +1.0 & $-$0.25 &  \\" in text


@pytest.mark.parametrize(
    ("names", "reference"),
    [(["aezsl", "eszsl"], "eszsl"), (["aezsl_t", "aezsl"], "aezsl"), (["gzsl_sje"], "sje"), (["sync", "sje"], "sync")],
)
def test_who_others_are_compared_with_unless_the_user_says(names, reference):
    assert default_reference(names) == reference
