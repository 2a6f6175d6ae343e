"""The table of all methods, and the figures that others published."""

import pandas as pd
import pytest

from aezsl.methods import METHODS
from aezsl.reporting import comparison
from aezsl.reporting.comparison import collect, comparison_table
from aezsl.reporting.formatting import ReportSettings, to_markdown
from aezsl.reporting.published import GENERALIZED_CUB, IMAGENET, IMAGENET_COLUMNS, TABLE_1, Row


def test_what_was_not_run_is_said(monkeypatch):
    monkeypatch.setattr(comparison, "TABLE_1", (*TABLE_1, Row("Nobody", None, "transductive", 1.0, 2.0, 3.0)))
    table = comparison_table({"eszsl": {"metrics": {"accuracy": 0.5}, "chosen": {"lam": 1.0}}}, "cub").set_index("name")
    assert table.loc["ESZSL", ["state", "accuracy"]].tolist() == ["run", 50.0]
    assert table.loc["AEZSL", "state"] == "not run"
    assert pd.isna(table.loc["AEZSL", "accuracy"])
    assert table.loc["Nobody", "state"] == "published only"
    unlabelled = comparison_table({"eszsl": {"metrics": {}, "chosen": {}}}).set_index("name")
    assert unlabelled.loc["ESZSL", "state"] == "run, no test labels"


def test_published_averages_are_those_of_the_paper():
    """The paper prints the mean of the three data sets: a check of what was carried over."""
    means = {row.label: (row.cub + row.sun + row.dogs) / 3 for row in TABLE_1}
    expected = {"ESZSL": 57.50, "EXEM": 62.48, "AEZSL": 64.12, "AEZSL_LR": 69.18, "AEZSL_sim": 63.01, "RKT": 58.95}
    assert {name: means[name] for name in expected} == pytest.approx(expected, abs=0.011)  # some are cut, not rounded
    assert {len(values) for rows in IMAGENET.values() for *_, values in rows} == {len(IMAGENET_COLUMNS)}
    for rows in IMAGENET.values():
        for *_, values in rows:
            assert list(values[:5]) == sorted(values[:5])  # hit@K grows with K
    assert max(GENERALIZED_CUB, key=lambda row: row[-1])[0] == "AEZSL with calibrated stacking"


def test_every_system_of_the_paper_is_registered_and_stands_in_its_order_until_it_is_run():
    table = comparison_table({}, "cub").head(len(TABLE_1))
    assert table["method"].tolist() == [row.method for row in TABLE_1]
    assert table["published_cub"].tolist() == [row.cub for row in TABLE_1]
    assert {row.method for row in TABLE_1} | {name for rows in IMAGENET.values() for _, name, _ in rows} <= set(METHODS)


def test_markdown_has_a_cell_per_column_and_no_nan():
    text = to_markdown(pd.DataFrame({"a": [1.234, float("nan")], "b": ["x|y", None]}))
    assert text.splitlines() == ["| a | b |", "| --- | --- |", "| 1.23 | x\\|y |", "|  |  |"]


def predictions(*labels, ids="abcd"):
    return pd.DataFrame({"image_id": list(ids), "true": ["x", "x", "y", None], "predicted": list(labels)})


def test_methods_are_compared_with_eszsl_image_by_image():
    found = {
        "eszsl": {"metrics": {"accuracy": 0.0}, "predictions": predictions("y", "y", "x", "x")},
        "aezsl": {"metrics": {"accuracy": 1.0}, "predictions": predictions("x", "x", "x", "x")},
        "sje": {"metrics": {"accuracy": 1.0}, "predictions": predictions("x", "x", "x", "x", ids="abcz")},
        "sync": {"metrics": {"accuracy": 1.0}, "predictions": predictions("x", "x", "x", "x", ids="abzd")},
    }
    table = comparison_table(found).set_index("method")
    assert table.loc["aezsl", "difference"] == 50.0  # one of the two classes
    assert table.loc["aezsl", "difference_low"] == 0.0
    assert table.loc["aezsl", "difference_high"] == 100.0
    assert table.loc["sje", "difference"] == 50.0  # what has no label does not count
    assert table.loc[["eszsl", "sync"], "difference"].isna().all()  # itself; other images


def test_a_paper_gets_the_methods_that_were_run():
    names = ["eszsl", "aezsl"]
    parts = [({"accuracy": 0.5, "per_class_accuracy": 0.25}, {}, {}, predictions("x", "x", "x", "x")) for _ in names]
    table, text, latex = collect(ReportSettings(), *(part for of_method in parts for part in of_method), names=names)
    assert set(table.loc[table["state"] == "run", "method"]) == set(names)
    assert "paired by image" in text
    assert latex.count("\\\\") == 3  # the head and two methods
    assert "ESZSL & 50.0 & 25.0 &" in latex
    assert "| ESZSL | 50.0 | 25.0 |" in text
    assert "published" not in latex.lower()


def test_the_table_to_read_has_intervals_in_their_cells_and_a_paper_s_figures_beside_its_own_data():
    metrics = {"per_class_accuracy": 0.25, "per_class_accuracy_low": 0.1, "per_class_accuracy_high": 0.4}
    parts = (metrics, {"lam": 1.0}, record(1.0), predictions("x", "x", "x", "x"))
    worse = ({"per_class_accuracy": 0.2}, {}, record(2.0), predictions("y", "x", "x", "x"))
    table, text, latex = collect(ReportSettings(data_set="cub"), *parts, *worse, names=["eszsl", "aezsl"])
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[:4]]
    assert head[:2] + head[-4:] == ["Method", "Accuracy %", "To ESZSL", "p", "Seconds", "Published %"]
    eszsl, aezsl = (dict(zip(head, row, strict=True)) for row in rows)
    assert eszsl["Per class %"] == "25.0 (10.0 to 40.0)"
    assert aezsl["To ESZSL"].startswith("-25.0 (-")
    assert (eszsl["To ESZSL"], eszsl["Seconds"], eszsl["Published %"]) == ("", "1.5", "49.7")
    assert "lam" not in text  # chosen parameters are in the file of all columns
    assert r"& $-$25.0 ($-$" in latex
    assert r"\begin{tabular}{lrrrrrrr}" in latex
    assert len(table.columns) > len(head)


def record(fit, adapt=0.0):
    return {"fit_seconds": fit, "adapt_seconds": adapt, "rank_seconds": 0.5}


def test_what_was_run_stands_first_the_best_on_top_with_what_its_base_cost():
    found = {
        "eszsl": {"metrics": {"per_class_accuracy": 0.3}, "record": record(1.0)},
        "aezsl": {"metrics": {"per_class_accuracy": 0.2}, "record": record(10.0)},
        "aezsl_t": {"metrics": {"per_class_accuracy": 0.4}, "record": record(0.5, 1.0)},
        "eszsl_t": {"metrics": {}, "record": record(0.5, 1.0)},  # no test labels
    }
    table = comparison_table(found)
    assert table["method"].tolist()[:4] == ["aezsl_t", "eszsl", "aezsl", "eszsl_t"]
    assert set(table["state"][4:]) == {"not run"}
    costs = table.set_index("method")[["seconds", "seconds_with_base"]]
    assert costs.loc["aezsl_t"].tolist() == [2.0, 12.5]
    assert costs.loc["aezsl"].tolist() == [10.5, 10.5]
    assert costs.loc["aezsl_lr"].isna().all()


@pytest.mark.parametrize(
    ("data_set", "columns"),
    [
        ("cub", ["published_cub"]),
        ("CUB", ["published_cub"]),
        ("dogs", ["published_dogs"]),
        ("imagenet", []),
        (None, []),
    ],
)
def test_published_figures_stand_beside_their_own_data_only(data_set, columns):
    table = comparison_table({}, data_set)
    assert [column for column in table if column.startswith("published")] == columns


def test_a_method_has_one_name_everywhere():
    table = comparison_table({}, "cub").set_index("method")["name"]
    assert {name: METHODS[name].label for name in table.index} == table.to_dict()
