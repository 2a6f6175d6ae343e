"""The table of chosen methods, from made metrics and predictions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from aezsl.errors import DataError
from aezsl.methods import METHODS
from aezsl.reporting.chosen import TableSettings, supervised_ceiling, tabulate
from aezsl.reporting.formatting import ReportSettings, emphasis
from aezsl.reporting.published import XLSA17_GZSL, XLSA17_ZSL, xlsa17_figures
from tests.helpers.problems import make_problem

TRUE = np.repeat(["a", "b", "c"], 20)


def predictions(share, seed):
    wrong = np.random.default_rng(seed).random(len(TRUE)) > share
    return pd.DataFrame(
        {"image_id": [str(i) for i in range(len(TRUE))], "true": TRUE, "predicted": np.where(wrong, "no", TRUE)}
    )


def parts(share, seed):
    metrics = {"accuracy": share, "per_class_accuracy": share, "hit_at_5": 0.9}
    metrics |= {"per_class_accuracy_low": share - 0.05, "per_class_accuracy_high": share + 0.05}
    return metrics, predictions(share, seed)


def generalized(seen, unseen):
    harmonic = 2 * seen * unseen / (seen + unseen)
    plain = {"gzsl_seen": seen, "gzsl_unseen": unseen / 2, "gzsl_harmonic": harmonic / 2}
    stacked = {"gzsl_seen_calibrated": seen, "gzsl_unseen_calibrated": unseen, "gzsl_harmonic_calibrated": harmonic}
    return {**plain, **stacked, "ausuc": 0.3}, predictions(0.5, 0)


def table(names, *values, ceiling=False, data_set=None, **settings):
    report = ReportSettings(benchmark="birds", data_set=data_set)
    return tabulate(report, TableSettings(**settings), *values, names=names, ceiling=ceiling)


def test_the_best_is_bold_the_second_underlined_and_intervals_and_the_ceiling_stand_beside_them():
    values = [*parts(0.6, 1), *parts(0.7, 2), *parts(0.5, 3), {"per_class_accuracy": 0.8}]
    frame, markdown, latex = table(("eszsl", "aezsl", "sje"), *values, ceiling=True, caption="Of 5% & more", label="t")
    assert frame["method"].tolist() == ["aezsl", "eszsl", "sje"]
    np.testing.assert_allclose(frame["share_of_ceiling"], [87.5, 75.0, 62.5])
    assert "| AEZSL | **70.0 (65.0 to 75.0)** |" in markdown
    assert "<u>60.0 (55.0 to 65.0)</u>" in markdown
    assert r"\textbf{70.0 (65.0 to 75.0)}" in latex
    assert r"\underline{60.0 (55.0 to 65.0)}" in latex
    assert r"\caption{Of 5\% \& more}" in latex
    assert r"\label{t}" in latex
    assert latex.count("{") == latex.count("}")


def test_both_settings_have_a_table_of_their_own():
    frame, markdown, latex = table(("eszsl", "gzsl_aezsl"), *parts(0.6, 1), *generalized(0.6, 0.3))
    assert frame["setting"].tolist() == ["zsl", "gzsl"]
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{table}") == 2
    assert r"\label{tab:results-gzsl}" in latex
    assert "40.0" in markdown.split("Seen %")[1]


def test_published_figures_of_the_same_features_stand_beside_those_made_here():
    values = *parts(0.6, 1), *generalized(0.6, 0.3)
    frame, markdown, _ = table(("eszsl", "gzsl_eszsl"), *values, data_set="xlsa17_CUB")
    assert frame["published_per_class_accuracy"].iloc[0] == 53.9
    np.testing.assert_allclose(frame["above_published_per_class_accuracy"].iloc[0], 60 - 53.9)
    np.testing.assert_allclose(frame["above_published_unseen"].iloc[1], 15 - 12.6)  # without a constant
    assert "53.9 (here +6.1)" in markdown
    assert "Xian" in markdown
    assert not xlsa17_figures("cub", "eszsl", "zsl")  # other features
    assert not xlsa17_figures("xlsa17_CUB", "aezsl", "zsl")


@pytest.mark.parametrize("sides", [sides for row in XLSA17_GZSL.values() for sides in row if sides], ids=str)
def test_published_harmonic_means_follow_from_both_sides(sides):
    unseen, seen, harmonic = sides
    assert abs(2 * unseen * seen / (unseen + seen) - harmonic) < 0.11


def test_published_figures_are_of_registered_methods():
    assert METHODS.keys() >= XLSA17_ZSL.keys() | XLSA17_GZSL.keys()


def test_equal_figures_are_marked_alike_and_a_lone_one_is_not():
    assert emphasis([1.04, 1.01, 0.5, np.nan]) == ["best", "best", "second", ""]
    assert emphasis([1.0, 1.0]) == ["", ""]


def test_the_ceiling_is_of_images_that_the_classifier_has_not_seen():
    problem = make_problem("zsl")
    assert supervised_ceiling(problem)["per_class_accuracy"] > 0.9
    mixed = np.random.default_rng(0).permutation(problem.y_test)  # labels that nothing can tell
    assert supervised_ceiling(replace(problem, y_test=mixed))["per_class_accuracy"] < 0.5
    with pytest.raises(DataError, match="ceiling"):
        supervised_ceiling(replace(problem, y_test=np.full(len(problem.y_test), -1)))


def test_a_word_that_is_no_method_is_refused():
    with pytest.raises(ValidationError, match="'mine'"):
        TableSettings(methods="eszsl+mine")
    with pytest.raises(ValidationError, match="'gzsl_aezls' is no method: did you mean gzsl_aezsl"):
        TableSettings(methods="eszsl+gzsl_aezls")
